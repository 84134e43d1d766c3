"""The latest verdicts, and one summary a node; `stale` and `waived` are never stored: they are a clock, a waiver."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster, Node

STORED_VERDICTS = ["pass", "warn", "fail", "unknown", "na"]
SETTLED_VERDICTS = ["pass", "fail", "na"]


class JudgedRow(models.Model):
    """Columns that the latest verdict of anything has, whether a node's or a wider scope's."""

    item = models.CharField(_("item"), max_length=64)
    subject = models.CharField(_("subject"), max_length=128, blank=True)
    layer = models.CharField(_("layer"), max_length=16)
    scope = models.CharField(_("scope"), max_length=16)
    cadence = models.CharField(_("cadence"), max_length=16)
    severity = models.CharField(_("severity"), max_length=8)
    shadow = models.BooleanField(_("shadow"), default=False)
    raw = models.CharField(_("verdict of the last measurement"), max_length=8)
    settled = models.CharField(_("settled verdict; empty until the first"), max_length=8, blank=True)
    pending = models.CharField(_("verdict on its way to settling"), max_length=8, blank=True)
    settle_count = models.PositiveSmallIntegerField(_("measurements that agree with it"), default=0)
    counted_at = models.DateTimeField(_("last counted measurement"), null=True)
    value = models.JSONField(_("measured value, fact -> number, text or yes/no"), default=dict)
    facts = models.JSONField(_("facts of offline, run and attested evidence, while valid"), null=True)
    identity = models.JSONField(_("last known identity values, for the digest"), default=dict)
    observed_at = models.DateTimeField(_("measured"), null=True)
    since = models.DateTimeField(_("raw verdict since"))
    settled_since = models.DateTimeField(_("settled verdict since"), null=True)
    epoch = models.PositiveIntegerField(_("changes of settled verdict or identity"), default=0)
    # 2 stops health and start, 1 stops start only, 0 stops nothing.
    blocks = models.PositiveSmallIntegerField(_("blocks"), default=0)
    reason = models.CharField(_("reason"), max_length=48, blank=True)
    detail = models.CharField(_("detail"), max_length=300, blank=True)
    item_version = models.CharField(_("item version"), max_length=64)
    loaded_until = models.DateTimeField(_("proof under load valid until"), null=True)
    valid_until = models.DateTimeField(_("evidence valid until"), null=True)
    evidence = models.CharField(_("digest of the raw text"), max_length=64, blank=True)

    class Meta:
        abstract = True


class NodeItemState(JudgedRow):
    """Latest verdict of (node, item, subject). Fillfactor 70; only indexes on few rows hold changing columns."""

    pk = models.CompositePrimaryKey("node_id", "item", "subject")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, db_index=False, related_name="states")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(raw__in=STORED_VERDICTS), name="nodeitemstate_raw_is_stored_verdict"),
            models.CheckConstraint(
                condition=Q(settled__in=["", *SETTLED_VERDICTS]), name="nodeitemstate_settled_is_pass_fail_or_na"
            ),
            models.CheckConstraint(condition=Q(blocks__in=[0, 1, 2]), name="nodeitemstate_blocks_0_to_2"),
            models.CheckConstraint(
                condition=Q(blocks=0)
                | Q(severity="blocker", shadow=False, raw__in=["fail", "unknown", "pass", "warn"]),
                name="nodeitemstate_only_live_blockers_block",
            ),
        ]
        indexes = [
            models.Index(fields=["node"], condition=Q(blocks__gt=0), name="nodeitemstate_bad"),
            # What a start waits for. These columns change with a verdict, never with a report that repeats it.
            models.Index(
                fields=["node"],
                condition=Q(severity="blocker", shadow=False) & (Q(settled="") | ~Q(pending="")) & ~Q(cadence="start"),
                name="nodeitemstate_unsettled",
            ),
            # One item over all nodes: its page, and the gate's comparison of what must be the same everywhere.
            models.Index(fields=["item", "node"], name="nodeitemstate_item"),
        ]


class ScopeState(JudgedRow):
    """Latest verdict of what is not a node's: a cluster, link, run, artefact or dataset."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="scope_states")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "scope", "subject", "item"], name="scopestate_once"),
            models.CheckConstraint(condition=Q(raw__in=STORED_VERDICTS), name="scopestate_raw_is_stored_verdict"),
            models.CheckConstraint(
                condition=Q(scope__in=["cluster", "link", "run", "artefact", "dataset"]),
                name="scopestate_scope_is_wide",
            ),
        ]


class NodeReadiness(models.Model):
    """One row a node, written in the ingest transaction: counts and limits, from which every answer is derived on read.

    Nothing here says *ready*: freshness is the clock's, applied by the reader.
    """

    node = models.OneToOneField(Node, on_delete=models.PROTECT, primary_key=True, related_name="readiness")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    # Stamps move on a full report of that cadence only; *_until is when the stamp's evidence goes stale.
    tick_at = models.DateTimeField(_("last full tick"), null=True)
    tick_until = models.DateTimeField(_("tick evidence good until"), null=True)
    daily_at = models.DateTimeField(_("last full daily report"), null=True)
    daily_until = models.DateTimeField(_("daily evidence good until"), null=True)
    tick_expected = models.PositiveSmallIntegerField(_("blocking tick rows expected"), default=0)
    daily_expected = models.PositiveSmallIntegerField(_("blocking daily rows expected"), default=0)
    health_bad = models.PositiveSmallIntegerField(_("rows with blocks = 2"), default=0)
    health_failed = models.PositiveSmallIntegerField(_("of those, raw fail"), default=0)
    health_pass_physical = models.PositiveSmallIntegerField(_("physical health rows that pass"), default=0)
    health_pass_system = models.PositiveSmallIntegerField(_("system health rows that pass"), default=0)
    start_bad = models.PositiveSmallIntegerField(_("rows with blocks >= 1"), default=0)
    start_until = models.DateTimeField(_("earliest end of evidence that does not renew itself"), null=True)
    # layer -> {"expected", "pass", "warn", "fail", "unknown", "na", "bad", "worst", "until"}
    layers = models.JSONField(_("counts a layer"), default=dict)
    digests = models.JSONField(_("semantic digest a layer"), default=dict)
    judged_under = models.CharField(_("digest of the rules judged under"), max_length=64, blank=True)
    last_report_at = models.DateTimeField(_("last report received"), null=True)
    last_observed_at = models.DateTimeField(_("newest measurement"), null=True)
    last_boottime = models.FloatField(_("boot clock of that report, seconds"), null=True)
    origin = models.CharField(_("origin of the last report"), max_length=8, default="live")
    captured_at = models.DateTimeField(_("captured, of a replay"), null=True)
    lost_reports = models.PositiveBigIntegerField(_("reports that the agent says it lost"), default=0)
    # Nodes of one profile, judged alike, of one fingerprint need no comparison; "none": nothing was measured.
    uniform = models.CharField(
        _("digest of what must be the same on all nodes; empty: not known"), max_length=64, blank=True, db_default=""
    )
