"""What nodes sent, and what a judge must remember of it.

Partitioned tables carry no foreign keys in the database: attaching a partition would wait behind an open ingest.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Node


class ReportReceipt(models.Model):
    """That a report arrived: what makes a retry, even after midnight or on day 5, the same report. Kept 8 days."""

    pk = models.CompositePrimaryKey("node_id", "report_id")
    node = models.ForeignKey(Node, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    report_id = models.UUIDField(_("report id"))
    received_at = models.DateTimeField(_("received"))

    class Meta:
        db_table = "checks_reportreceipt"


class Report(models.Model):
    """One push of facts. Partitioned by UTC day of ``received_at``, kept 3 days, named by no other row."""

    pk = models.CompositePrimaryKey("node_id", "received_at", "report_id")
    node = models.ForeignKey(Node, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    report_id = models.UUIDField(_("report id"))
    received_at = models.DateTimeField(_("received"))
    observed_at = models.DateTimeField(_("measured, by the portal's clock"))
    cadence = models.CharField(_("cadence"), max_length=16)
    agent_version = models.CharField(_("agent version"), max_length=32)
    boot_id = models.CharField(_("boot id"), max_length=64)
    captured_at = models.DateTimeField(_("captured, of a replay"), null=True)
    # {"covered": [item], "facts": {item: {subject: {name: value, or [value, unit] in a unit that is not the
    #  catalogue's}}}, "ages": {item: seconds from its oldest fact to observed_at}, "problems": [[item, subject, kind,
    #  detail]], "clock": …, "lost": …, "serials": …}, all under the names that the agent used.
    body = models.JSONField(_("facts and problems"))

    class Meta:
        db_table = "checks_report"


class Evidence(models.Model):
    """Raw text behind a verdict, at most 4 kB; kept while a state, a signature or an incident names it."""

    digest = models.CharField(_("SHA-256 of the text"), max_length=64, primary_key=True)
    probe = models.CharField(_("probe"), max_length=64)
    text = models.TextField(_("text"))
    truncated = models.BooleanField(_("truncated"), default=False)
    stored_at = models.DateTimeField(_("stored"))

    def __str__(self) -> str:
        return f"{self.probe} {self.digest[:12]}"


class NodeMemory(models.Model):
    """What judging one item of one subject must remember: counters with their boot id, first-over times, load."""

    pk = models.CompositePrimaryKey("node_id", "item", "subject")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, db_index=False, related_name="+")
    item = models.CharField(_("item"), max_length=64)
    subject = models.CharField(_("subject"), max_length=64, blank=True)
    state = models.JSONField(_("memory, as ItemMemory writes it"))


class ValueRollup(models.Model):
    """Least, greatest and last value of a numeric fact in one hour (kept 7 days) or day (kept 400 days)."""

    pk = models.CompositePrimaryKey("node_id", "item", "subject", "name", "grain", "at")
    node = models.ForeignKey(Node, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    item = models.CharField(_("item"), max_length=64)
    subject = models.CharField(_("subject"), max_length=64, blank=True)
    name = models.CharField(_("fact"), max_length=64)
    grain = models.CharField(_("grain: hour or day"), max_length=4)
    at = models.DateTimeField(_("start of the hour or day, UTC"))
    least = models.FloatField(_("least"))
    greatest = models.FloatField(_("greatest"))
    last = models.FloatField(_("last"))
    samples = models.PositiveIntegerField(_("samples"))

    class Meta:
        db_table = "checks_valuerollup"
