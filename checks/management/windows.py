"""``manage.py cluster window set|end|list``: when a cluster's nodes may be measured at the cost of a job."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from datetime import datetime, time
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from checks.domain.windows import WindowKind
from checks.models import Cluster, MaintenanceWindow
from checks.selectors.windows import window_open_until, window_opens_at
from checks.services.windows import end_window, set_window

_KINDS = {"maintenance": WindowKind.MAINTENANCE, "off-peak": WindowKind.OFF_PEAK}


def add_window_verbs(parser: ArgumentParser) -> None:
    """``set SLUG 22:00 00:00 [--kind off-peak]``, ``end SLUG 22:00 00:00``, ``list SLUG``."""
    verbs = parser.add_subparsers(dest="window_verb", required=True)
    for verb, purpose in (("set", "let a window open each day"), ("end", "let a window open no more")):
        one = verbs.add_parser(verb, help=purpose)
        one.add_argument("slug")
        one.add_argument("opens", type=_wall_clock, help="HH:MM in the cluster's time zone")
        one.add_argument("closes", type=_wall_clock, help="HH:MM; one that is not later means the next day")
        one.add_argument("--kind", choices=_KINDS, default="maintenance")
        one.add_argument("--reason", default=f"{verb} with manage.py cluster window", help="why; it is kept")
    verbs.add_parser("list", help="list the windows that are set").add_argument("slug")


def do_with_windows(cluster: Cluster, options: dict[str, Any]) -> Iterator[str]:
    """Do the one act, then the lines that say what is in force now."""
    now = timezone.now()
    if options["window_verb"] == "set":
        kind = _KINDS[options["kind"]]
        set_window(
            cluster=cluster, kind=kind, opens=options["opens"], closes=options["closes"], by=None,
            reason=options["reason"], now=now,
        )  # fmt: skip
    if options["window_verb"] == "end":
        end_window(window=_find(cluster, options), by=None, reason=options["reason"], now=now)
    yield from _lines(cluster, now)


def _lines(cluster: Cluster, now: datetime) -> Iterator[str]:
    windows = MaintenanceWindow.objects.filter(cluster=cluster, ended_at=None)
    for one in windows:
        kind = one.get_kind_display()
        yield f"{cluster.slug}: {kind}, each day {one.opens:%H:%M} to {one.closes:%H:%M} ({cluster.time_zone})"
    if not windows:
        yield f"{cluster.slug}: no window; nothing that disturbs a job is measured by itself"
        return
    until, opens = window_open_until(cluster, now), window_opens_at(cluster, now)
    if until is not None:
        yield f"open now, until {until:%Y-%m-%d %H:%M} UTC"
    elif opens is not None:
        yield f"opens next at {opens:%Y-%m-%d %H:%M %Z}"


def _find(cluster: Cluster, options: dict[str, Any]) -> MaintenanceWindow:
    window = MaintenanceWindow.objects.filter(
        cluster=cluster, kind=_KINDS[options["kind"]], opens=options["opens"], closes=options["closes"], ended_at=None
    ).first()
    if window is None:
        raise CommandError(
            f"{cluster.slug} has no such window; `manage.py cluster window list {cluster.slug}` lists them."
        )
    return window


def _wall_clock(text: str) -> time:
    try:
        return datetime.strptime(text, "%H:%M").time()  # noqa: DTZ007  (a time of the day has no zone of its own)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no time of the day: write HH:MM, such as 22:00") from None
