"""Bearer tokens of agents, gates, enrolment and operators."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster, Node


class TokenKind(models.TextChoices):
    """What a token is for; also stands in its text form."""

    AGENT = "agent", _("agent")
    GATE = "gate", _("gate")
    ENROLMENT = "enrolment", _("enrolment")
    OPERATOR = "operator", _("operator")


class Token(models.Model):
    """A bearer secret, written ``cs_<kind>_<key>_<secret>``. Only an HMAC of the secret is kept."""

    kind = models.CharField(_("kind"), max_length=16, choices=TokenKind)
    name = models.CharField(_("name"), max_length=150, blank=True)
    scopes = models.JSONField(_("scopes"), default=list)
    key = models.CharField(_("key, the public part"), max_length=8)
    digest = models.CharField(_("HMAC-SHA256 of the secret"), max_length=64)
    pepper = models.PositiveSmallIntegerField(_("number of the HMAC key"))
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, null=True, blank=True, related_name="tokens")
    clusters = models.ManyToManyField(Cluster, blank=True, related_name="gate_tokens")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, null=True, blank=True, related_name="tokens")
    networks = models.JSONField(_("networks it may come from"), default=list, blank=True)
    hostname_pattern = models.CharField(_("hostname pattern"), max_length=253, blank=True)
    uses_left = models.PositiveIntegerField(_("uses left"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used (to the minute)"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["key"], name="token_key_unique"),
            models.CheckConstraint(condition=Q(kind__in=TokenKind.values), name="token_kind_known"),
            models.CheckConstraint(
                condition=~Q(kind="agent") | Q(node__isnull=False), name="token_of_an_agent_names_its_node"
            ),
            models.CheckConstraint(
                condition=~Q(kind="enrolment") | Q(cluster__isnull=False), name="token_of_enrolment_names_its_cluster"
            ),
        ]

    def __str__(self) -> str:
        return f"cs_{self.kind}_{self.key}_…"
