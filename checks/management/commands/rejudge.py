"""``manage.py rejudge``: judge one item again from what was sent."""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.management.acts import find_cluster, told_in_one_line
from checks.models import Cluster
from checks.services.rejudge_item import Change, rejudge_item

_SHOWN = 50


class Command(BaseCommand):
    """Says which verdicts change, and changes them unless it is a dry run."""

    help = (
        "Judge an item again from the newest report of each node, or the evidence of each run, that is kept: after a "
        "fact, a unit or a criterion was mended. (After a change of thresholds this happens by itself.) What an agent "
        "read wrongly it reads again with its next report, once it is updated."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--item ITEM [--since WHEN] [--cluster C] [--dry-run] [--reason TEXT]``."""
        parser.add_argument("--item", required=True)
        parser.add_argument("--since", type=_moment, help="a date, a time (UTC unless it says), or 36h, 2d; default 3d")
        parser.add_argument("--cluster", help="only this one")
        parser.add_argument("--dry-run", action="store_true", help="tell what would change, and change nothing")
        parser.add_argument("--reason", default="", help="kept in the ledger; needed unless it is a dry run")

    def handle(self, *args: Any, **options: Any) -> None:
        """One line a change, then what it came to."""
        dry_run: bool = options["dry_run"]
        if not dry_run and not options["reason"].strip():
            raise CommandError("Say why with --reason; the ledger keeps it. To look only, add --dry-run.")
        now = timezone.now()
        since: datetime = options["since"] or now - timedelta(days=3)
        if since > now:
            raise CommandError(f"{since:%Y-%m-%d %H:%M} UTC lies in the future: nothing came in since then.")
        clusters = (
            [find_cluster(options["cluster"])] if options["cluster"] else [*Cluster.objects.filter(closed_at=None)]
        )
        with told_in_one_line():
            done = rejudge_item(
                item=options["item"], clusters=clusters, since=since, by=None,
                reason=options["reason"], now=now, dry_run=dry_run,
            )  # fmt: skip
        for change in done.changes[:_SHOWN]:
            self.stdout.write(_line(change))
        if len(done.changes) > _SHOWN:
            self.stdout.write(f"… and {len(done.changes) - _SHOWN} more")
        ending = "nothing was changed (--dry-run)" if dry_run else "written, marked as judged again"
        self.stdout.write(f"{done.judged} judged again, {len(done.changes)} verdicts change: {ending}")


def _line(change: Change) -> str:
    what = f"{change.host} {change.subject}".strip()
    why = f" ({change.detail})" if change.detail else ""
    return f"{what}: {change.before or 'never judged'} → {change.after}{why}"


def _moment(text: str) -> datetime:
    unit = {"h": timedelta(hours=1), "d": timedelta(days=1)}.get(text[-1:])
    try:
        if unit is not None:
            return timezone.now() - int(text[:-1]) * unit
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"{text!r} is neither a time such as 2026-11-28T06:00 nor a span such as 36h") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
