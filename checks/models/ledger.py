"""The ledger: a chain of acts that nobody can rewrite unseen, and the anchors that hold it from outside."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster


class LedgerEntry(models.Model):
    """An act that a reviewer must be able to find: who, what, on what, why. Append-only, one chain a site.

    ``digest`` covers everything here and the digest before it; ``seq`` has no gaps, being counted inside the act's own
    transaction and not by a sequence.
    """

    append_only = True

    seq = models.PositiveBigIntegerField(_("number"))
    previous = models.CharField(_("digest of the entry before"), max_length=64)
    digest = models.CharField(_("digest"), max_length=64)
    at = models.DateTimeField(_("at"))
    who = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    name = models.CharField(_("name at the time"), max_length=150, blank=True)
    what = models.CharField(_("act"), max_length=64)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, null=True, related_name="+")
    target = models.CharField(_("target"), max_length=300)
    reason = models.TextField(_("reason"), blank=True)
    data = models.JSONField(_("before and after"), default=dict)

    class Meta:
        ordering = ["-seq"]
        constraints = [models.UniqueConstraint(fields=["seq"], name="ledgerentry_seq_unique")]
        # Who signs asks for the few acts of one kind among a cluster's many.
        indexes = [models.Index(fields=["cluster", "what"], name="ledgerentry_cluster_what")]

    def __str__(self) -> str:
        return f"{self.seq} {self.what} {self.target}"


class LedgerAnchor(models.Model):
    """The head of the chain at one time, signed (Ed25519) and told to a second place. Append-only."""

    append_only = True

    seq = models.PositiveBigIntegerField(_("number of the newest entry"))
    head = models.CharField(_("its digest"), max_length=64)
    at = models.DateTimeField(_("at"))
    key_id = models.CharField(_("key"), max_length=64)
    signature = models.CharField(_("Ed25519 signature, hex"), max_length=128)
    place = models.CharField(_("where it was told"), max_length=300)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.seq} {self.head[:12]}"


class LedgerWatch(models.Model):
    """How the last look at the chain ended, and the last telling of its head to each place: one row each.

    ``name`` is "chain", or the place. Only this table of the ledger changes; what it says decides nothing.
    """

    class Outcome(models.TextChoices):
        """How it ended; ``unclear``: nothing is known to be wrong, and nothing proves that all is well."""

        OK = "ok", _("all is well")
        BROKEN = "broken", _("the chain is broken")
        ROLLED_BACK = "back", _("the database was rolled back")
        UNCLEAR = "unclear", _("it cannot be told")
        FAILED = "failed", _("it did not work")

    name = models.CharField(_("what was looked at"), max_length=300, primary_key=True)
    at = models.DateTimeField(_("last tried"))
    good_at = models.DateTimeField(_("last went well"), null=True)
    outcome = models.CharField(_("outcome"), max_length=8, choices=Outcome.choices)
    detail = models.TextField(_("detail"), blank=True)

    def __str__(self) -> str:
        return f"{self.name} {self.outcome}"
