"""Fingerprints of nodes, when each node had which, and settings that became items."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster, Node

_PERSON = settings.AUTH_USER_MODEL


class Fingerprint(models.Model):
    """All settings of a node, under the SHA-256 of what was sent: many nodes and days share one.

    Kept as what differs from *base*, another fingerprint of the same kinds; without one it stands whole. ``quiet`` and
    ``noisy`` hold ``{name: value}``: a text, null (there, and could not be read) or false (not there, unlike in the
    base). They are parted by the filter of that day, which ``filter`` names: a reader of the same filter needs
    ``quiet`` alone.
    """

    sha256 = models.CharField(_("SHA-256"), max_length=64, primary_key=True)
    base = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="+")
    kinds = models.JSONField(_("kinds that were read"))
    quiet = models.JSONField(_("settings"))
    noisy = models.JSONField(_("settings that differ by nature"))
    filter = models.CharField(_("digest of the filter that parted them"), max_length=16)
    size = models.PositiveIntegerField(_("settings in all"))
    stored_at = models.DateTimeField(_("stored"))

    def __str__(self) -> str:
        return self.sha256[:12]


class NodeFingerprint(models.Model):
    """The fingerprint that a node has now, since when, and when it was last said to be the same."""

    node = models.OneToOneField(Node, on_delete=models.PROTECT, primary_key=True, related_name="fingerprint")
    fingerprint = models.ForeignKey(Fingerprint, on_delete=models.PROTECT, related_name="+")
    since = models.DateTimeField(_("since"))
    seen_at = models.DateTimeField(_("seen"))


class FingerprintChange(models.Model):
    """From when on a node had another fingerprint, until its next row. What it held is kept for 400 days."""

    append_only = True

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="+")
    sha256 = models.CharField(_("SHA-256"), max_length=64)
    at = models.DateTimeField(_("at"))

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["node", "-at"], name="fingerprintchange_of_node")]


class SettingItem(models.Model):
    """A setting that every node of a cluster has to have from now on, as one person decided. Append-only.

    It warns. It blocks once another person accepted it, and ends when somebody says so.
    """

    append_only = True

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="setting_items")
    name = models.CharField(_("setting"), max_length=200)
    equals = models.CharField(_("value that every node has to have"), max_length=500)
    by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(_("at"))
    reason = models.CharField(_("reason"), max_length=300)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name


class SettingItemAct(models.Model):
    """What became of it: accepted as a blocker, or ended; each once. Append-only."""

    append_only = True

    ACCEPTED, ENDED = "accepted", "ended"

    item = models.ForeignKey(SettingItem, on_delete=models.PROTECT, related_name="acts")
    kind = models.CharField(_("kind"), max_length=8)
    by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(_("at"))
    reason = models.CharField(_("reason"), max_length=300, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["item", "kind"], name="settingitemact_once"),
            models.CheckConstraint(condition=Q(kind__in=["accepted", "ended"]), name="settingitemact_kind_known"),
        ]
