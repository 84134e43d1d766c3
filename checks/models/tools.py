"""Outputs of tools that people already run, as they were sent."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Node


class ToolEvidence(models.Model):
    """One output of one tool about one node, whole, and what was made of it. Append-only; a retry is the same one.

    Its facts were judged as a report's are; which of them count still, the node's rows say.
    """

    append_only = True

    evidence_id = models.UUIDField(_("evidence id"))
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="tool_evidence")
    tool = models.CharField(_("tool"), max_length=32)
    digest = models.CharField(_("SHA-256 of what was sent"), max_length=64)
    size = models.PositiveIntegerField(_("bytes that were sent"))
    # zlib of the very bytes.
    body = models.BinaryField(_("what was sent"))
    measured_at = models.DateTimeField(_("when the tool ran"))
    received_at = models.DateTimeField(_("received"))
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("uploaded by")
    )
    token = models.CharField(_("public part of the token that sent it"), max_length=8, blank=True)
    # {"verdicts": […], "facts": […], "remarks": […], …}: the answer that was given.
    answer = models.JSONField(_("what was made of it"))

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["evidence_id"], name="toolevidence_once")]
        indexes = [models.Index(fields=["node", "-id"], name="toolevidence_latest")]

    def __str__(self) -> str:
        return f"{self.tool} {self.digest[:12]}"
