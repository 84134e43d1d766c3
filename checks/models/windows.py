"""When a cluster's nodes may be measured at the cost of a job, and which node is being measured so right now."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster, Node


class MaintenanceWindow(models.Model):
    """A window of each day, in the wall-clock time of its cluster; ended, never deleted: what ran in it stays told.

    One that closes at or before it opens ends on the next day.
    """

    class Kind(models.TextChoices):
        """What it is for."""

        MAINTENANCE = "maintenance", _("maintenance")
        OFF_PEAK = "off_peak", _("off-peak")

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="windows")
    kind = models.CharField(_("kind"), max_length=16, choices=Kind)
    opens = models.TimeField(_("opens"))
    closes = models.TimeField(_("closes"))
    set_at = models.DateTimeField(_("set"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        ordering = ["cluster", "opens"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "opens", "closes"],
                condition=Q(ended_at__isnull=True),
                name="maintenancewindow_set_once",
            ),
            models.CheckConstraint(condition=~Q(opens=F("closes")), name="maintenancewindow_has_a_length"),
            models.CheckConstraint(
                condition=Q(kind__in=["maintenance", "off_peak"]), name="maintenancewindow_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.opens:%H:%M}-{self.closes:%H:%M}"


class NodeClaim(models.Model):
    """A node taken by its own agent for items that disturb a job. It stands until it is ended, or ``until``.

    Nothing is written when its time is over: who asks compares ``until`` with the clock.
    """

    class End(models.TextChoices):
        """How it ended."""

        RELEASED = "released", _("given back")
        REPORTED = "reported", _("measured and reported")
        TIME = "time", _("its time was over")

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="claims")
    items = models.JSONField(_("items"))
    claimed_at = models.DateTimeField(_("claimed"))
    until = models.DateTimeField(_("until"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    ended_by = models.CharField(_("how it ended"), max_length=16, choices=End, blank=True)

    class Meta:
        ordering = ["-claimed_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["node"], condition=Q(ended_at__isnull=True), name="nodeclaim_one_open_a_node"
            ),
            models.CheckConstraint(condition=Q(until__gt=F("claimed_at")), name="nodeclaim_has_a_length"),
            models.CheckConstraint(
                condition=Q(ended_by__in=["", "released", "reported", "time"]), name="nodeclaim_end_known"
            ),
        ]
        indexes = [models.Index(fields=["node", "-claimed_at"], name="nodeclaim_of_node")]

    def __str__(self) -> str:
        return f"{self.node_id} until {self.until}"
