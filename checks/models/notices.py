"""What people are told, and how far each telling has come."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster


class Notice(models.Model):
    """One message to one person or to one destination of NOTIFY_FILE, written when it became due and sent once.

    ``key`` says what it is about, so that telling of one thing twice makes one row. ``person`` is empty for a
    destination, which ``place`` names without its secrets and ``place_key`` finds in the file again.
    """

    key = models.CharField(_("what it is about"), max_length=200)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    place = models.CharField(_("destination"), max_length=150, blank=True)
    place_key = models.CharField(_("digest of the destination's address"), max_length=64, blank=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, null=True, related_name="+")
    # Held while a circuit breaker of the cluster is open.
    about_nodes = models.BooleanField(_("about nodes"), default=False)
    loud = models.BooleanField(_("loud"), default=False)
    title = models.CharField(_("title"), max_length=300)
    body = models.TextField(_("text"))
    created_at = models.DateTimeField(_("created"))
    due_at = models.DateTimeField(_("due"))
    claimed_until = models.DateTimeField(_("claimed until"), null=True)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    sent_at = models.DateTimeField(_("sent"), null=True)
    given_up_at = models.DateTimeField(_("given up"), null=True)
    error = models.CharField(_("last error"), max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["key", "person"], condition=Q(place_key=""), name="notice_once_a_person"),
            models.UniqueConstraint(
                fields=["key", "place_key"], condition=Q(person=None), name="notice_once_a_destination"
            ),
            models.CheckConstraint(
                condition=Q(person=None, place_key__gt="") | Q(person__isnull=False, place_key=""),
                name="notice_to_a_person_or_a_destination",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(sent_at__isnull=True, given_up_at__isnull=True), name="notice_unsent"
            )
        ]

    def __str__(self) -> str:
        return self.title


class NoticeMark(models.Model):
    """Up to when a watch has told what it saw; *name* is the watch and what it watches."""

    name = models.CharField(_("name"), max_length=80, primary_key=True)
    at = models.DateTimeField(_("at"))

    def __str__(self) -> str:
        return self.name
