"""Clusters, their nodes, and who may do what in them."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Cluster(models.Model):
    """A set of nodes that one job may span. Closed when it is gone, never deleted: signatures name it."""

    slug = models.SlugField(_("slug"), max_length=63)
    name = models.CharField(_("name"), max_length=150)
    provider = models.CharField(_("provider"), max_length=150, blank=True)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    profile = models.CharField(_("hardware profile"), max_length=64)
    overrides = models.JSONField(_("threshold overrides"), default=dict, blank=True)
    interval_s = models.PositiveIntegerField(_("tick interval, seconds"), default=300)
    poll_after_s = models.PositiveIntegerField(_("plan poll, seconds"), default=60)
    min_settle_gap_s = models.PositiveIntegerField(_("least gap between counted measurements, seconds"), default=60)
    accept_replay = models.BooleanField(_("accept replayed captures"), default=False)
    training_env = models.CharField(_("training environment"), max_length=16, default="host")
    health_serves_as_launch = models.BooleanField(_("health may serve as a launch answer"), default=False)
    # Each pair of nodes measures its link, and not only the pairs of a sweep: n - 1 rounds instead of log2 n.
    every_link = models.BooleanField(_("measure every link between nodes"), default=False, db_default=False)
    # The rules in force, profile key -> digest of item versions, profile and overrides (``Ruleset.judged_under``).
    judged_under = models.JSONField(_("rules in force"), default=dict, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    closed_at = models.DateTimeField(_("closed"), null=True, blank=True)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["slug"], name="cluster_slug_unique"),
            models.CheckConstraint(
                condition=Q(interval_s__gte=5) & Q(interval_s__lte=3600), name="cluster_interval_5_to_3600_s"
            ),
            models.CheckConstraint(
                condition=Q(poll_after_s__gte=5) & Q(poll_after_s__lte=3600), name="cluster_poll_after_5_to_3600_s"
            ),
            models.CheckConstraint(condition=Q(min_settle_gap_s__gte=1), name="cluster_settle_gap_at_least_1_s"),
            models.CheckConstraint(
                condition=Q(training_env__in=["host", "container", "none"]), name="cluster_training_env_known"
            ),
        ]

    def __str__(self) -> str:
        return self.slug


class Node(models.Model):
    """A machine. Identity = uuid + serials: renamed or swapped hardware keeps its history and changes the digest."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="nodes")
    hostname = models.CharField(_("hostname, in small letters"), max_length=253)
    profile = models.CharField(_("hardware profile"), max_length=64, blank=True, help_text=_("Empty: the cluster's."))
    serials = models.JSONField(_("serials, slot -> serial"), default=dict, blank=True)
    # Serials that a report brought for slots that held another one; they count once a person confirms them.
    unconfirmed_serials = models.JSONField(_("serials to confirm"), default=dict, blank=True)
    boot_id = models.CharField(_("boot id"), max_length=64, blank=True)
    boot_since = models.DateTimeField(_("first measurement of this boot"), null=True, blank=True)
    past_boots = models.JSONField(_("boot ids seen before, newest first"), default=list, blank=True)
    rack = models.CharField(_("rack"), max_length=64, blank=True)
    switch = models.CharField(_("switch"), max_length=64, blank=True)
    origin = models.CharField(_("origin"), max_length=8, default="live")
    agent_version = models.CharField(_("agent version"), max_length=32, blank=True)
    # Why this machine's evidence is not believed ("hardware_changed", "boot_conflict"); empty = it is.
    trouble = models.CharField(_("trouble"), max_length=32, blank=True)
    retired_subjects = models.JSONField(_("subjects taken out, subject -> reason"), default=dict, blank=True)
    enrolled_at = models.DateTimeField(_("enrolled"))
    retired_at = models.DateTimeField(_("retired"), null=True, blank=True)
    reenrol_until = models.DateTimeField(_("may enrol again until"), null=True, blank=True)

    class Meta:
        ordering = ["hostname"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "hostname"], name="node_hostname_unique_in_cluster"),
            models.CheckConstraint(condition=Q(origin__in=["live", "replay"]), name="node_origin_known"),
        ]

    def __str__(self) -> str:
        return self.hostname


class Role(models.TextChoices):
    """What a person is in one cluster; the sign-off policy names these."""

    VIEWER = "viewer", _("viewer")
    HARDWARE = "hardware", _("hardware engineer")
    PLATFORM = "platform", _("AI platform engineer")
    DATA = "data", _("data engineer")
    LEAD = "lead", _("lead")
    ADMIN = "admin", _("administrator")


class Membership(models.Model):
    """One role of one person in one cluster; somebody may hold several."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(_("role"), max_length=16, choices=Role)
    granted_at = models.DateTimeField(_("granted"), auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "cluster", "role"], name="membership_once"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.role} · {self.cluster}"
