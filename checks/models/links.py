"""Nodes that measure with one another: who is ready, which pair measures, and what each end said."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster, Node
from checks.models.windows import NodeClaim


class LinkSeat(models.Model):
    """A taken node that asked for a partner; whoever has not asked for a while takes no part any more."""

    node = models.OneToOneField(Node, on_delete=models.PROTECT, primary_key=True, related_name="link_seat")
    claim = models.ForeignKey(NodeClaim, on_delete=models.PROTECT, related_name="+")
    # Where partners find it, as its own configuration names it.
    address = models.CharField(_("address"), max_length=253)
    cards = models.PositiveSmallIntegerField(_("RDMA cards"))
    gpu_memory = models.BooleanField(_("perftest writes from GPU memory"))
    flow_s = models.PositiveSmallIntegerField(_("seconds that one flow lasts"))
    seated_at = models.DateTimeField(_("first asked"))
    asked_at = models.DateTimeField(_("last asked"))

    def __str__(self) -> str:
        return f"{self.node_id} since {self.seated_at}"


class LinkTrial(models.Model):
    """Two nodes that were told to measure with each other. It ends when both have said their word, or by its time.

    It holds what was found and no verdict: which rates are good is asked of the rules whenever it is read.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="link_trials")
    server = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="+")
    client = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="+")
    server_claim = models.ForeignKey(NodeClaim, on_delete=models.PROTECT, related_name="+")
    client_claim = models.ForeignKey(NodeClaim, on_delete=models.PROTECT, related_name="+")
    cards = models.PositiveSmallIntegerField(_("cards a side"))
    gpu_memory = models.BooleanField(_("from GPU memory too"))
    flow_s = models.PositiveSmallIntegerField(_("seconds that one flow lasts"))
    port = models.PositiveIntegerField(_("first TCP port"))
    handed_at = models.DateTimeField(_("handed out"))
    until = models.DateTimeField(_("ends by its time"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    facts = models.JSONField(_("facts of the link"), default=dict, blank=True)
    problem = models.CharField(_("what was not measured"), max_length=300, blank=True)

    class Meta:
        ordering = ["-handed_at"]
        constraints = [
            models.CheckConstraint(condition=~Q(server=F("client")), name="linktrial_of_two_nodes"),
            models.CheckConstraint(condition=Q(until__gt=F("handed_at")), name="linktrial_has_a_length"),
        ]
        indexes = [
            models.Index(fields=["cluster", "ended_at"], name="linktrial_ended"),
            models.Index(fields=["cluster"], condition=Q(ended_at__isnull=True), name="linktrial_open"),
        ]

    def __str__(self) -> str:
        return f"{self.server_id} and {self.client_id}"


class LinkSide(models.Model):
    """One end of a trial: open until it said its word, or the trial ended without it."""

    trial = models.ForeignKey(LinkTrial, on_delete=models.PROTECT, related_name="sides")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="+")
    open = models.BooleanField(_("open"), default=True)
    told = models.JSONField(_("what it said"), null=True)
    told_at = models.DateTimeField(_("said"), null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trial", "node"], name="linkside_once_a_trial"),
            models.UniqueConstraint(fields=["node"], condition=Q(open=True), name="linkside_one_open_a_node"),
        ]

    def __str__(self) -> str:
        return f"{self.node_id} in {self.trial_id}"
