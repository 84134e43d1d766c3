"""The stored rows as they are, for people who look for a fault. Nothing is changed here: acts have their services."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from checks import models


class ReadOnly(admin.ModelAdmin):
    """Shows; never adds, changes or deletes."""

    list_per_page = 50
    show_full_result_count = False  # some tables hold millions of rows

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(models.Token)
class TokenAdmin(ReadOnly):
    """Tokens without their HMAC."""

    exclude = ("digest",)
    list_display = ("key", "kind", "name", "cluster", "node", "expires_at", "last_used_at", "revoked_at")
    list_filter = ("kind",)


@admin.register(models.CatalogVersion)
class CatalogVersionAdmin(ReadOnly):
    """Versions without their documents, which are long."""

    exclude = ("document",)
    list_display = ("version", "loaded_at", "in_force")


@admin.register(models.Node)
class NodeAdmin(ReadOnly):
    """Nodes by name."""

    list_display = ("hostname", "cluster", "profile", "origin", "trouble", "retired_at")
    list_filter = ("cluster", "origin")
    search_fields = ("hostname",)


@admin.register(models.LedgerEntry)
class LedgerEntryAdmin(ReadOnly):
    """Acts, newest first."""

    list_display = ("at", "what", "target", "who", "reason")
    list_filter = ("what",)


# Tables whose key has several columns (states, memories, reports) cannot be shown by the admin of Django 5.2.
admin.site.register(
    [
        models.Attestation,
        models.AttestedFile,
        models.BreakerTrip,
        models.Cluster,
        models.Delegation,
        models.DelegationEnd,
        models.Evidence,
        models.Flip,
        models.Gap,
        models.Heartbeat,
        models.LedgerAnchor,
        models.Manifest,
        models.Membership,
        models.NodeReadiness,
        models.Outbox,
        models.Override,
        models.OverrideEnd,
        models.PinnedEvidence,
        models.PolicyApproval,
        models.PolicyVersion,
        models.RecheckRequest,
        models.Revocation,
        models.Run,
        models.RunNode,
        models.RunStart,
        models.ScopeState,
        models.Signature,
        models.SignoffPackage,
        models.Waiver,
        models.WaiverApproval,
        models.WaiverEnd,
    ],
    ReadOnly,
)
