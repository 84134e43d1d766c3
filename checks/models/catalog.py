"""The checklist as it was loaded."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class CatalogVersion(models.Model):
    """One loaded catalogue. Append-only but for ``in_force``, which exactly one row holds."""

    version = models.CharField(_("version"), max_length=32)
    digest = models.CharField(_("SHA-256 of the document"), max_length=64)
    document = models.JSONField(_("document, as Catalogue.as_json() writes it"))
    loaded_at = models.DateTimeField(_("loaded"))
    in_force = models.BooleanField(_("in force"), default=False)

    class Meta:
        ordering = ["-loaded_at"]
        constraints = [
            models.UniqueConstraint(fields=["digest"], name="catalog_digest_unique"),
            models.UniqueConstraint(fields=["in_force"], condition=Q(in_force=True), name="catalog_one_in_force"),
        ]

    def __str__(self) -> str:
        return self.version
