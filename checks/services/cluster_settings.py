"""What a cluster's administrator sets about its cadence and its evidence. Each change is in the ledger."""

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import transaction

from checks.domain.errors import CountersignError
from checks.domain.windows import known_zone
from checks.models import Cluster
from checks.services.cluster_locks import lock_cluster
from checks.services.ledger import write_entry

CHANGEABLE = frozenset(
    {
        "name",
        "provider",
        "time_zone",
        "interval_s",
        "poll_after_s",
        "min_settle_gap_s",
        "accept_replay",
        "health_serves_as_launch",
        "every_link",
    }
)


class InvalidSetting(CountersignError):
    """No cluster has that setting, or it cannot have that value."""

    code = "invalid_setting"


@transaction.atomic
def change_settings(
    *, cluster: Cluster, changes: Mapping[str, object], by: AbstractBaseUser | None, reason: str, now: datetime
) -> Cluster:
    """Set some of a cluster's settings; verdicts are not touched, only how often they are asked for.

    Raises:
        InvalidSetting: names the setting and what it may be.
    """
    unknown = sorted(set(changes) - CHANGEABLE)
    if unknown:
        raise InvalidSetting(f"{unknown[0]} is no setting; there are: {', '.join(sorted(CHANGEABLE))}.")
    cluster = lock_cluster(cluster.pk)
    before = {name: getattr(cluster, name) for name in changes}
    for name, value in changes.items():
        setattr(cluster, name, value)
    validate_settings(cluster)
    cluster.save(update_fields=list(changes))
    write_entry(
        what="settings_changed", target=cluster.slug, who=by, cluster=cluster, reason=reason, now=now,
        data={"before": before, "after": dict(changes)},
    )  # fmt: skip
    return cluster


def validate_settings(cluster: Cluster) -> None:
    """Refuse a cluster whose settings no cluster may have; whether its short name is free is asked elsewhere.

    Raises:
        InvalidSetting: names the setting and what it may be.
    """
    if known_zone(cluster.time_zone) is None:
        raise InvalidSetting(f"There is no time zone {cluster.time_zone!r}; write one such as Europe/Berlin or UTC.")
    try:
        cluster.clean_fields()
        cluster.validate_constraints(exclude={"slug"})
    except ValidationError as error:
        raise InvalidSetting("; ".join(error.messages)) from error
