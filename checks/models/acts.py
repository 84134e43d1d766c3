"""What people and the portal itself did, asked for, and still have to send."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster, Node


class RecheckRequest(models.Model):
    """Items that a node should measure again as soon as its agent asks for the plan."""

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="rechecks")
    items = models.JSONField(_("items"))
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Empty: the schedule."),
    )
    requested_at = models.DateTimeField(_("requested"))
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    picked_up_at = models.DateTimeField(_("given to the agent"), null=True, blank=True)
    done_at = models.DateTimeField(_("measured"), null=True, blank=True)
    expires_at = models.DateTimeField(_("given up"), null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["node"], condition=Q(done_at__isnull=True), name="recheckrequest_open")]


class Outbox(models.Model):
    """A task to send to the broker, written in the act's own transaction; worker and beat send it."""

    task = models.CharField(_("task"), max_length=100)
    args = models.JSONField(_("arguments: ids only"), default=list)
    created_at = models.DateTimeField(_("created"))
    due_at = models.DateTimeField(_("due"))
    claimed_until = models.DateTimeField(_("claimed until"), null=True)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    sent_at = models.DateTimeField(_("sent"), null=True)
    error = models.CharField(_("last error"), max_length=300, blank=True)

    class Meta:
        indexes = [models.Index(fields=["due_at"], condition=Q(sent_at__isnull=True), name="outbox_unsent")]


class Heartbeat(models.Model):
    """When worker, beat and sweep last lived."""

    name = models.CharField(_("name"), max_length=32, primary_key=True)
    at = models.DateTimeField(_("at"))

    def __str__(self) -> str:
        return self.name


class BreakerTrip(models.Model):
    """One item failed on too many nodes at once: drains and messages are held until it ends."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="breaker_trips")
    item = models.CharField(_("item"), max_length=64)
    tripped_at = models.DateTimeField(_("tripped"))
    last_flip_at = models.DateTimeField(_("last flip to fail"))
    nodes = models.PositiveIntegerField(_("nodes that failed"))
    of_nodes = models.PositiveIntegerField(_("nodes of the cluster"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    reason = models.CharField(_("reason given by the person who ended it"), max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "item"], condition=Q(ended_at__isnull=True), name="breakertrip_one_open_an_item"
            )
        ]
