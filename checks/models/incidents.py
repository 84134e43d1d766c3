"""What went wrong, when, on which parts, what the checklist had to do with it, and what is done about it."""

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q, Value
from django.utils.translation import gettext_lazy as _

from checks.domain.incidents.kinds import ActionKind, ActionState, Component, Relation, Standing, Weight
from checks.models.clusters import Cluster, Node
from checks.models.costs import Told
from checks.models.runs import Run

_PERSON = settings.AUTH_USER_MODEL


def _values(kinds: type) -> list[str]:
    return [kind.value for kind in kinds]  # type: ignore[attr-defined]


class Incident(models.Model):
    """One trouble of one cluster, from its first sign to the last corrective action. Known to people as INC-0031.

    Its timeline says who changed what; the columns say what is so now.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="incidents")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, blank=True, related_name="incidents")
    step = models.PositiveBigIntegerField(_("training step"), null=True, blank=True)
    title = models.CharField(_("title"), max_length=200)
    summary = models.TextField(_("summary, Markdown"), blank=True)
    weight = models.CharField(_("weight"), max_length=8)
    component = models.CharField(_("component"), max_length=24)
    error_class = models.CharField(_("class of the error"), max_length=80, blank=True)
    fingerprint = models.CharField(_("what tells it from others"), max_length=300, blank=True)
    standing = models.CharField(_("where it stands"), max_length=8, default=Standing.OPEN.value)
    started_at = models.DateTimeField(_("started"))
    detected_at = models.DateTimeField(_("detected"))
    stable_at = models.DateTimeField(_("stable"), null=True, blank=True)
    closed_at = models.DateTimeField(_("closed"), null=True, blank=True)
    gpus_affected = models.PositiveIntegerField(_("GPUs that stood still"), null=True, blank=True)
    lost_work_s = models.PositiveBigIntegerField(_("work to be done again, seconds"), default=0)
    # What somebody says was lost instead, and what earlier occurrences of a trouble that came back had lost.
    told_gpu_seconds = models.PositiveBigIntegerField(_("GPU-seconds lost, as told"), null=True, blank=True)
    carried_gpu_seconds = models.PositiveBigIntegerField(_("GPU-seconds of earlier occurrences"), default=0)
    occurrences = models.PositiveIntegerField(_("times it occurred"), default=1)
    usd_per_gpu_hour = models.DecimalField(
        _("US dollars a GPU hour then"), max_digits=12, decimal_places=6, null=True, blank=True
    )
    # Who opens it: person, flip, breaker, alertmanager, or the name that a program gives itself.
    source = models.SlugField(_("opened by"), max_length=32)
    opened_by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    opened_at = models.DateTimeField(_("opened"))
    merged_into = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="merged")
    terms = models.TextField(_("words it is found by"), blank=True, editable=False)
    search = models.GeneratedField(
        expression=Func(Func(F("terms"), Value(" "), function="string_to_array"), function="array_to_tsvector"),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(standing__in=_values(Standing)), name="incident_standing_known"),
            models.CheckConstraint(condition=Q(weight__in=_values(Weight)), name="incident_weight_known"),
            models.CheckConstraint(condition=Q(component__in=_values(Component)), name="incident_component_known"),
            models.CheckConstraint(condition=Q(detected_at__gte=F("started_at")), name="incident_detected_after_start"),
            models.CheckConstraint(
                condition=Q(stable_at=None) | Q(stable_at__gte=F("started_at")), name="incident_stable_after_start"
            ),
            models.CheckConstraint(
                condition=Q(standing=Standing.MERGED.value, merged_into__isnull=False)
                | (~Q(standing=Standing.MERGED.value) & Q(merged_into=None)),
                name="incident_merged_into_another",
            ),
        ]
        indexes = [
            GinIndex(fields=["search"], name="incident_search"),
            models.Index(fields=["cluster", "-id"], name="incident_newest"),
            models.Index(fields=["cluster", "detected_at"], name="incident_detected"),
            models.Index(fields=["cluster", "fingerprint"], condition=~Q(fingerprint=""), name="incident_fingerprint"),
        ]

    def __str__(self) -> str:
        return f"INC-{self.pk:04}"


class IncidentEvent(Told):
    """One line of an incident's timeline. Append-only; ``key`` keeps what a program says twice from counting twice."""

    incident = models.ForeignKey(Incident, on_delete=models.PROTECT, related_name="events")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(_("kind"), max_length=16)
    noted_at = models.DateTimeField(_("written down"))
    text = models.TextField(_("text"), blank=True)
    data = models.JSONField(_("before and after"), default=dict)
    key = models.CharField(_("key"), max_length=300, blank=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "key"], condition=~Q(key=""), name="incidentevent_once")
        ]
        indexes = [models.Index(fields=["cluster", "noted_at"], name="incidentevent_noted")]


class IncidentNode(models.Model):
    """A machine, or a part of it, that an incident touched, with the serials of that day."""

    incident = models.ForeignKey(Incident, on_delete=models.PROTECT, related_name="touched")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, null=True, related_name="+")
    hostname = models.CharField(_("hostname then"), max_length=253)
    part = models.CharField(_("part, such as gpu3"), max_length=64, blank=True)
    machine_serial = models.CharField(_("serial of the machine then"), max_length=128, blank=True)
    part_serial = models.CharField(_("serial of the part then"), max_length=128, blank=True)
    serials = models.JSONField(_("all serials then, slot -> serial"), default=dict)

    class Meta:
        ordering = ["hostname", "part"]
        constraints = [models.UniqueConstraint(fields=["incident", "hostname", "part"], name="incidentnode_once")]
        indexes = [
            models.Index(fields=["machine_serial"], condition=~Q(machine_serial=""), name="incidentnode_machine"),
            models.Index(fields=["part_serial"], condition=~Q(part_serial=""), name="incidentnode_part"),
            models.Index(fields=["node"], name="incidentnode_node"),
        ]


class IncidentItemLink(Told):
    """What an item was to an incident; one relation an item, and the newest word counts."""

    append_only = False

    incident = models.ForeignKey(Incident, on_delete=models.PROTECT, related_name="links")
    item = models.CharField(_("item"), max_length=64)
    relation = models.CharField(_("relation"), max_length=20)
    why = models.CharField(_("why"), max_length=500, blank=True)
    item_version = models.CharField(_("item version then"), max_length=64, blank=True)
    # What was read then; it is kept as long as the incident names it.
    evidence = models.CharField(_("digest of the raw text"), max_length=64, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["incident", "item"], name="incidentitemlink_once"),
            models.CheckConstraint(condition=Q(relation__in=_values(Relation)), name="incidentitemlink_relation_known"),
        ]
        indexes = [
            models.Index(fields=["item"], name="incidentitemlink_item"),
            models.Index(fields=["evidence"], condition=~Q(evidence=""), name="incidentitemlink_evidence"),
        ]


class CorrectiveAction(models.Model):
    """What is done so that it does not come back. It ends well only when verified: by a probe, or by another person."""

    incident = models.ForeignKey(Incident, on_delete=models.PROTECT, related_name="actions")
    kind = models.CharField(_("kind"), max_length=12)
    title = models.CharField(_("what is to be done"), max_length=300)
    owner = models.ForeignKey(_PERSON, on_delete=models.PROTECT, null=True, related_name="+")
    due = models.DateField(_("due"), null=True, blank=True)
    state = models.CharField(_("state"), max_length=8, default=ActionState.PROPOSED.value)
    # What a passing probe would prove it by: this item, on this node or on every node of the cluster.
    item = models.CharField(_("item that proves it"), max_length=64, blank=True)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    done_at = models.DateTimeField(_("done"), null=True)
    done_by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, null=True, related_name="+")
    verified_at = models.DateTimeField(_("verified"), null=True)
    verified_by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, null=True, related_name="+")
    proof = models.CharField(_("proof"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("written down"))

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=_values(ActionState)), name="correctiveaction_state_known"),
            models.CheckConstraint(condition=Q(kind__in=_values(ActionKind)), name="correctiveaction_kind_known"),
            models.CheckConstraint(
                condition=~Q(state=ActionState.VERIFIED.value)
                | (Q(verified_at__isnull=False, done_at__isnull=False) & ~Q(proof="")),
                name="correctiveaction_verified_by_a_proof",
            ),
            models.CheckConstraint(
                condition=Q(verified_by=None) | Q(done_by=None) | ~Q(verified_by=F("done_by")),
                name="correctiveaction_verified_by_another",
            ),
        ]
        indexes = [
            models.Index(
                fields=["item"],
                condition=Q(state=ActionState.DONE.value) & ~Q(item=""),
                name="correctiveaction_to_prove",
            )
        ]


class IncidentAttachment(Told):
    """A picture or PDF beside an incident; its bytes lie under their digest, as evidence of statements does."""

    incident = models.ForeignKey(Incident, on_delete=models.PROTECT, related_name="attachments")
    digest = models.CharField(_("SHA-256"), max_length=64)
    name = models.CharField(_("name"), max_length=150)
    media_type = models.CharField(_("media type"), max_length=64)
    size = models.PositiveIntegerField(_("bytes"))

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["incident", "digest"], name="incidentattachment_once")]


class Precedent(models.Model):
    """An incident that others told in public, linked to items. It belongs to no cluster, so it enters no figure of one.

    Loaded from ``checks/knowledge``; a row that is in the files no more is gone with the next load.
    """

    key = models.SlugField(_("key"), max_length=64, primary_key=True)
    origin = models.CharField(_("origin: article or public"), max_length=8)
    # ISO, as exact as its source: 2022-03-21, 2022-04, or empty.
    happened = models.CharField(_("when"), max_length=32, blank=True)
    run = models.CharField(_("run"), max_length=100, blank=True)
    component = models.CharField(_("component"), max_length=24)
    source = models.CharField(_("source"), max_length=300)
    title_en = models.CharField(_("title, English"), max_length=200)
    title_zh = models.CharField(_("title, Chinese"), max_length=200)
    told_en = models.TextField(_("what happened, English"))
    told_zh = models.TextField(_("what happened, Chinese"))
    items = models.JSONField(_("items that would see it"), default=list)
    loaded_at = models.DateTimeField(_("loaded"))

    class Meta:
        ordering = ["origin", "key"]
        constraints = [
            models.CheckConstraint(condition=Q(origin__in=["article", "public"]), name="precedent_origin_known"),
            models.CheckConstraint(condition=Q(component__in=_values(Component)), name="precedent_component_known"),
        ]
        indexes = [GinIndex(fields=["items"], name="precedent_items")]

    def __str__(self) -> str:
        return self.key


class ThresholdProposal(models.Model):
    """Another threshold for one fact of one item of a cluster. In shadow until a second person accepts it.

    Append-only: what it would do is worked out anew whenever somebody looks; what it would have done stands here.
    """

    append_only = True

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="threshold_proposals")
    item = models.CharField(_("item"), max_length=64)
    fact = models.CharField(_("fact"), max_length=64)
    before = models.FloatField(_("threshold in force then"), null=True)
    threshold = models.FloatField(_("threshold"))
    # {"good", "before", "false_alarms", "misses", "false_alarms_now", "misses_now"}
    back_test = models.JSONField(_("what it would have said"), default=dict)
    proposed_by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(_("proposed"))
    reason = models.TextField(_("reason"))

    class Meta:
        ordering = ["-id"]


class ThresholdApproval(models.Model):
    """The second person's word: from then on the threshold is in force. Append-only."""

    append_only = True

    proposal = models.OneToOneField(ThresholdProposal, on_delete=models.PROTECT, related_name="approval")
    by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(_("at"))
