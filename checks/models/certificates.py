"""Certificates that are asked for where requests come in, and sealed where the key is."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from checks.models.runs import Run


class CertificateOrder(models.Model):
    """One certificate that a web process asked the worker for: its text, or why there is none."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(_("asked"))
    text = models.TextField(_("certificate"), blank=True)
    problem = models.CharField(_("why there is none"), max_length=300, blank=True)

    class Meta:
        indexes = [models.Index(fields=["asked_at"], name="certificateorder_asked")]

    def __str__(self) -> str:
        return f"{self.run_id} at {self.asked_at}"
