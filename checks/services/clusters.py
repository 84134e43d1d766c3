"""Clusters and what their nodes are judged by. Whatever changes the rules writes a ledger entry and judges again."""

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, connection, transaction

from checks.domain.errors import CountersignError
from checks.domain.profiles import TrainingEnv
from checks.models import Cluster, Membership, Node, Role
from checks.selectors.rules import build_ruleset
from checks.services.cluster_locks import lock_cluster
from checks.services.cluster_settings import validate_settings
from checks.services.ledger import write_entry
from checks.services.rejudge import rejudge_cluster, rejudge_node


class SlugTaken(CountersignError):
    """Another cluster has that slug."""

    code = "slug_taken"
    status = 409


@transaction.atomic
def create_cluster(
    *,
    slug: str,
    name: str,
    profile: str,
    by: AbstractBaseUser | None,
    now: datetime,
    provider: str = "",
    time_zone: str = "UTC",
    interval_s: int = 300,
    poll_after_s: int = 60,
    min_settle_gap_s: int = 60,
    accept_replay: bool = False,
    training_env: str = TrainingEnv.HOST,
) -> Cluster:
    """Make a cluster; *by*, when given, becomes its administrator.

    Raises:
        UnknownProfile: the catalogue in force has no such hardware profile.
        InvalidSetting: a setting cannot have that value.
        SlugTaken: the slug is in use.
    """
    lock_rules()
    cluster = Cluster(
        slug=slug, name=name, profile=profile, provider=provider, time_zone=time_zone, interval_s=interval_s,
        poll_after_s=poll_after_s, min_settle_gap_s=min_settle_gap_s, accept_replay=accept_replay,
        training_env=training_env,
    )  # fmt: skip
    validate_settings(cluster)
    cluster.judged_under = {profile: build_ruleset(profile, {}, training_env).judged_under}
    try:
        with transaction.atomic():
            cluster.save()
    except IntegrityError as error:
        raise SlugTaken(f"There is already a cluster {slug!r}; choose another short name.") from error
    if by is not None:
        Membership.objects.create(user_id=by.pk, cluster=cluster, role=Role.ADMIN)
    data = {
        "profile": profile, "interval_s": interval_s, "poll_after_s": poll_after_s,
        "min_settle_gap_s": min_settle_gap_s, "accept_replay": accept_replay, "training_env": training_env,
    }  # fmt: skip
    write_entry(what="cluster_created", target=slug, who=by, cluster=cluster, now=now, data=data)
    return cluster


def set_profile(*, cluster: Cluster, profile: str, by: AbstractBaseUser | None, reason: str, now: datetime) -> Cluster:
    """Judge the cluster's nodes as another kind of hardware, at once.

    Raises:
        UnknownProfile: the catalogue in force has no such hardware profile.
    """
    with transaction.atomic():
        lock_rules()
        cluster = lock_cluster(cluster.pk)
        change = {"before": cluster.profile, "after": profile}
        cluster.profile = profile
        _store_rules(cluster)
        write_entry(
            what="profile_changed", target=cluster.slug, who=by, cluster=cluster, reason=reason, now=now, data=change
        )
    rejudge_cluster(cluster=cluster, now=now)
    return cluster


def set_training_env(
    *, cluster: Cluster, training_env: str, by: AbstractBaseUser | None, reason: str, now: datetime
) -> Cluster:
    """Say where jobs of this cluster find their software, and judge its nodes again: without any, what a node's daily
    round asks about it is *na*.

    Raises:
        InvalidSetting: there is no such kind of environment.
    """
    with transaction.atomic():
        lock_rules()
        cluster = lock_cluster(cluster.pk)
        change = {"before": cluster.training_env, "after": training_env}
        cluster.training_env = training_env
        validate_settings(cluster)
        _store_rules(cluster)
        write_entry(
            what="training_env_changed", target=cluster.slug, who=by, cluster=cluster, reason=reason, now=now,
            data=change,
        )  # fmt: skip
    rejudge_cluster(cluster=cluster, now=now)
    return cluster


def set_overrides(
    *, cluster: Cluster, overrides: Mapping[str, object], by: AbstractBaseUser | None, reason: str, now: datetime
) -> Cluster:
    """Put other thresholds in force in this cluster, and judge its nodes again.

    Raises:
        InvalidOverride: an override fits nothing in the catalogue.
    """
    cluster = store_overrides(cluster=cluster, overrides=overrides, by=by, reason=reason, now=now)
    rejudge_cluster(cluster=cluster, now=now)
    return cluster


@transaction.atomic
def store_overrides(
    *, cluster: Cluster, overrides: Mapping[str, object], by: AbstractBaseUser | None, reason: str, now: datetime
) -> Cluster:
    """The first half of ``set_overrides``, for an act that does more in its transaction and has nodes judged after it.

    Raises:
        InvalidOverride: an override fits nothing in the catalogue.
    """
    lock_rules()
    cluster = lock_cluster(cluster.pk)
    replace_overrides(cluster=cluster, overrides=overrides, by=by, reason=reason, now=now)
    return cluster


def replace_overrides(
    *, cluster: Cluster, overrides: Mapping[str, object], by: AbstractBaseUser | None, reason: str, now: datetime
) -> None:
    """The same inside of a transaction that holds the locks of rules and cluster, and judges the nodes after it.

    Raises:
        InvalidOverride: an override fits nothing in the catalogue.
    """
    change = {"before": cluster.overrides, "after": dict(overrides)}
    cluster.overrides = dict(overrides)
    _store_rules(cluster)
    write_entry(
        what="overrides_changed", target=cluster.slug, who=by, cluster=cluster, reason=reason, now=now, data=change
    )


def set_node_profile(*, node: Node, profile: str, by: AbstractBaseUser | None, reason: str, now: datetime) -> Node:
    """Judge one node as another kind of hardware than its cluster's; an empty *profile* ends the exception.

    Raises:
        UnknownProfile: the catalogue in force has no such hardware profile.
    """
    with transaction.atomic():
        lock_rules()
        cluster = lock_cluster(node.cluster_id)
        node = Node.objects.select_for_update(no_key=True).get(pk=node.pk)
        change = {"before": node.profile, "after": profile}
        node.profile = profile
        node.save(update_fields=["profile"])
        _store_rules(cluster)
        write_entry(
            what="node_profile_changed", target=f"{cluster.slug}/{node.hostname}", who=by, cluster=cluster,
            reason=reason, now=now, data=change,
        )  # fmt: skip
    rejudge_node(node_id=node.pk, now=now, cause="person")
    return node


def lock_rules() -> None:
    """Make changes of rules queue up until this transaction ends: two at once would each name rules of its own."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('countersign.rules'))")


def refresh_rules(cluster: Cluster) -> Cluster:
    """Name the rules in force for every profile in use in *cluster*; inside the transaction of what changed them."""
    cluster = lock_cluster(cluster.pk)
    _store_rules(cluster)
    return cluster


def _store_rules(cluster: Cluster) -> None:
    own = Node.objects.filter(cluster=cluster, retired_at=None).exclude(profile="")
    profiles = {cluster.profile, *own.values_list("profile", flat=True)}
    own_settings = cluster.overrides, cluster.training_env
    cluster.judged_under = {key: build_ruleset(key, *own_settings).judged_under for key in sorted(profiles)}
    cluster.save(update_fields=["profile", "overrides", "training_env", "judged_under"])
