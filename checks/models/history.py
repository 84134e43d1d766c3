"""What changed, and when nothing was known."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster, Node


class Flip(models.Model):
    """A change of raw or settled verdict. Append-only, monthly partitions, never dropped, no foreign keys in SQL."""

    append_only = True

    at = models.DateTimeField(_("at, by the portal's clock"))
    observed_at = models.DateTimeField(_("measured"), null=True)
    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, db_constraint=False, db_index=False, related_name="+"
    )
    node = models.ForeignKey(Node, on_delete=models.PROTECT, db_constraint=False, db_index=False, related_name="+")
    item = models.CharField(_("item"), max_length=64)
    subject = models.CharField(_("subject"), max_length=128, blank=True)
    raw_before = models.CharField(_("raw verdict before"), max_length=8)
    raw = models.CharField(_("raw verdict"), max_length=8)
    settled_before = models.CharField(_("settled verdict before"), max_length=8, blank=True)
    settled = models.CharField(_("settled verdict"), max_length=8, blank=True)
    reason = models.CharField(_("reason"), max_length=48, blank=True)
    detail = models.CharField(_("detail"), max_length=300, blank=True)
    value = models.JSONField(_("measured value"), default=dict)
    item_version = models.CharField(_("item version"), max_length=64)
    cause = models.CharField(_("cause: report, rejudge or person"), max_length=8)
    report_id = models.UUIDField(_("report"), null=True)

    class Meta:
        db_table = "checks_flip"


class Gap(models.Model):
    """Time without evidence of one cadence: opened by the sweep (twice is harmless), closed by the next report."""

    node = models.ForeignKey(Node, on_delete=models.PROTECT, db_index=False, related_name="gaps")
    cadence = models.CharField(_("cadence"), max_length=16)
    started_at = models.DateTimeField(_("evidence was good until"))
    ended_at = models.DateTimeField(_("evidence again from"), null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "cadence", "started_at"], name="gap_once"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=models.F("started_at")),
                name="gap_ends_after_start",
            ),
        ]
        indexes = [models.Index(fields=["node", "cadence"], condition=Q(ended_at__isnull=True), name="gap_open")]
