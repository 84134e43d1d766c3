"""Training jobs that are to start, are running or have run, and the nodes they may use."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster, Node


class Stage(models.TextChoices):
    """How far a run has come; a service moves it, with a reason and a ledger entry."""

    DRAFT = "draft", _("draft")
    CHECKING = "checking", _("checking")
    REHEARSING = "rehearsing", _("rehearsing")
    SIGNOFF = "signoff", _("sign-off")
    CLEARED = "cleared", _("cleared")
    RUNNING = "running", _("running")
    FINISHED = "finished", _("finished")
    ABORTED = "aborted", _("aborted")


#: Stages in which nothing of a run can change any more.
OVER = frozenset({Stage.FINISHED, Stage.ABORTED})


class Run(models.Model):
    """One planned or running training job. Its name is asked without its cluster's, so it is unique on the site.

    What stands here and in its pool is the *run spec*: it is part of what is signed, so a change outdates signatures.
    """

    slug = models.SlugField(_("slug"), max_length=63)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="runs")
    name = models.CharField(_("name"), max_length=150)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    stage = models.CharField(_("stage"), max_length=16, choices=Stage, default=Stage.DRAFT)
    pool = models.ManyToManyField(Node, through="RunNode", related_name="runs")
    nodes_needed = models.PositiveIntegerField(_("nodes that the job needs"))
    world_size = models.PositiveIntegerField(_("world size, processes"))
    # {"tensor": 8, "pipeline": 4, "data": 16, ...}: their product is the world size where all are given.
    layout = models.JSONField(_("parallel layout"), default=dict, blank=True)
    model_name = models.CharField(_("model"), max_length=150)
    parameters = models.PositiveBigIntegerField(_("parameters of the model"), null=True, blank=True)
    # {"weights": 2, "gradients": 2, "optimizer": 12}: bytes a parameter of the training state.
    bytes_per_parameter = models.JSONField(_("bytes a parameter"), default=dict, blank=True)
    # Also the subject of what is known of a dataset, so no longer than a subject is.
    dataset = models.CharField(_("dataset"), max_length=128, blank=True)
    # [{"name": "train.yaml", "digest": "sha256:…"}]: configuration, image, commit.
    artefacts = models.JSONField(_("configuration artefacts"), default=list, blank=True)
    planned_start = models.DateTimeField(_("planned start"))
    planned_end = models.DateTimeField(_("planned end"))
    created_at = models.DateTimeField(_("created"))
    # Null: a program did, with an operator's token; the ledger names it.
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["-planned_start", "slug"]
        constraints = [
            models.UniqueConstraint(fields=["slug"], name="run_slug_unique"),
            models.CheckConstraint(condition=Q(stage__in=Stage.values), name="run_stage_known"),
            models.CheckConstraint(condition=Q(nodes_needed__gte=1), name="run_needs_a_node"),
            models.CheckConstraint(condition=Q(world_size__gte=1), name="run_has_a_process"),
            models.CheckConstraint(condition=Q(planned_end__gt=F("planned_start")), name="run_ends_after_its_start"),
        ]

    def __str__(self) -> str:
        return self.slug


class RunNode(models.Model):
    """A node of a run's pool: the job may use it, and what is signed names it."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="pool_nodes")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "node"], name="runnode_once")]


class StartKind(models.TextChoices):
    """What was started."""

    START = "start", _("start")
    RESTART = "restart", _("restart")
    REPLACEMENT = "replacement", _("replacement by a node of the pool")


class RunStart(models.Model):
    """That a run started, or came back: frozen then, and what every *restart* is asked against. Append-only."""

    append_only = True

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="starts")
    kind = models.CharField(_("kind"), max_length=16, choices=StartKind)
    at = models.DateTimeField(_("at"))
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    token = models.CharField(_("public part of the token that told it"), max_length=8, blank=True)
    hostnames = models.JSONField(_("nodes it runs on"))
    # [{"layer", "digest", "round", "signatures": [id]}]
    basis = models.JSONField(_("signatures that stood then"))
    restart_until = models.DateTimeField(_("may come back until"))
    reason = models.CharField(_("reason"), max_length=300, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.CheckConstraint(condition=Q(kind__in=StartKind.values), name="runstart_kind_known")]


class RunEvidence(models.Model):
    """What an audit found about a run, as it was sent. Append-only, and once an id: a retry is the same evidence.

    What several tools say of one item stands together: each tool's latest word counts, until it speaks again.
    """

    append_only = True

    evidence_id = models.UUIDField(_("evidence id"))
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="evidence")
    tool = models.CharField(_("tool"), max_length=64)
    hostname = models.CharField(_("measured on"), max_length=253)
    agent_version = models.CharField(_("agent version"), max_length=32)
    finished_at = models.DateTimeField(_("finished, by the clock of that machine"))
    observed_at = models.DateTimeField(_("finished, by the portal's clock"))
    received_at = models.DateTimeField(_("received"))
    token = models.CharField(_("public part of the token that sent it"), max_length=8)
    # What the run was to read then: evidence of a dataset is about that one, whatever the run reads later.
    dataset = models.CharField(_("dataset"), max_length=128, blank=True)
    # [item]
    covered = models.JSONField(_("items it looked at"))
    # [{"item", "name", "value", "unit"}], [{"item", "kind", "detail"}], [{"name", "digest"}]
    facts = models.JSONField(_("facts"))
    problems = models.JSONField(_("problems"))
    artefacts = models.JSONField(_("files it read"), default=list)
    # {item: digest}
    texts = models.JSONField(_("texts behind it"), default=dict)

    class Meta:
        ordering = ["-observed_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["evidence_id"], name="runevidence_once")]
        indexes = [models.Index(fields=["run", "tool", "-observed_at"], name="runevidence_latest")]

    def __str__(self) -> str:
        return f"{self.tool} {self.run_id} {self.evidence_id}"
