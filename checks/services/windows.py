"""When a cluster's nodes may be measured at the cost of a job: set and ended by people, each act in the ledger."""

from datetime import datetime, time
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.windows import WindowKind
from checks.models import Cluster, MaintenanceWindow
from checks.services.cluster_locks import lock_cluster
from checks.services.ledger import write_entry

#: In one cluster; more of them would be a calendar.
MOST_WINDOWS: Final = 8


class WindowRefused(CountersignError):
    """The window cannot be as it was asked for; the sentence says what to change."""

    code = "window_refused"


@transaction.atomic
def set_window(
    *,
    cluster: Cluster,
    kind: WindowKind,
    opens: time,
    closes: time,
    by: AbstractBaseUser | None,
    reason: str,
    now: datetime,
) -> MaintenanceWindow:
    """Let a window open each day from *opens* to *closes*, wall-clock times of the cluster, overnight where need be.

    Raises:
        WindowRefused: it has no length, is set already, or the cluster has enough of them.
    """
    cluster = lock_cluster(cluster.pk)
    there_are = MaintenanceWindow.objects.filter(cluster=cluster, ended_at=None)
    if opens == closes:
        raise WindowRefused(_("A window that closes when it opens has no length; give it another end."))
    if there_are.filter(kind=kind, opens=opens, closes=closes).exists():
        raise WindowRefused(_("That window is set already."))
    if there_are.count() >= MOST_WINDOWS:
        raise WindowRefused(_("A cluster has at most %(most)d windows; end one first.") % {"most": MOST_WINDOWS})
    window = MaintenanceWindow.objects.create(cluster=cluster, kind=kind, opens=opens, closes=closes, set_at=now)
    _write("window_set", window, by, reason, now)
    return window


@transaction.atomic
def end_window(
    *, window: MaintenanceWindow, by: AbstractBaseUser | None, reason: str, now: datetime
) -> MaintenanceWindow:
    """Let a window open no more; a claim that was made in it stands until its own end.

    Raises:
        WindowRefused: it has ended before.
    """
    lock_cluster(window.cluster_id)
    window.refresh_from_db()
    if window.ended_at is not None:
        raise WindowRefused(_("That window has ended already."))
    window.ended_at = now
    window.save(update_fields=["ended_at"])
    _write("window_ended", window, by, reason, now)
    return window


def _write(what: str, window: MaintenanceWindow, by: Any, reason: str, now: datetime) -> None:
    cluster = window.cluster
    write_entry(
        what=what, target=str(window), who=by, cluster=cluster, reason=reason, now=now,
        data={"kind": window.kind, "opens": f"{window.opens:%H:%M}", "closes": f"{window.closes:%H:%M}",
              "time_zone": cluster.time_zone},
    )  # fmt: skip
