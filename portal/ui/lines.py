"""Stored rows as lines of a table: subjects that say the same share a line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.utils.translation import gettext as _

from checks.domain.loading import PROOF_S
from checks.domain.verdicts import Scope
from checks.models import Cluster
from checks.selectors.pages_verdicts import UNPROVED, ShownState
from portal.ui import words
from portal.ui.criteria import Rules
from portal.ui.events import item_href, reason_said
from portal.ui.matrix import Count
from portal.ui.subjects import subjects_said


@dataclass(frozen=True, slots=True)
class Line:
    """One item on one or several subjects that show the same."""

    item: str
    title: str
    verdict: str
    on: str
    value: str
    needs: str
    why: str
    shadow: bool
    warning: bool
    measured_at: datetime | None
    since: datetime
    href: str
    subject: str
    hostname: str = ""
    current: bool = False
    waits: bool = False


def lines_of(
    rows: Sequence[ShownState], *, cluster: Cluster, hostname: str, rules: Mapping[str, Rules], language: str
) -> list[Line]:
    """*rows* in their order, neighbours of one item that say the same put together."""
    groups = [list(group) for _key, group in groupby(sorted_alike(rows), key=alike)]
    return [
        line_of(group, cluster=cluster, hostname=hostname, rules=rules[group[0].item], language=language)
        for group in groups
        if group[0].item in rules
    ]


def in_catalogue_order(rows: Iterable[ShownState], rules: Mapping[str, Rules]) -> list[ShownState]:
    """What blocks first, then worst first, shadow last; equals in the catalogue's order of items."""
    place = {key: number for number, key in enumerate(rules)}
    return sorted(
        rows,
        key=lambda row: (
            row.shadow,
            -row.blocks,
            row.rank,
            place.get(row.item, len(place)),
            len(row.subject),
            row.subject,
        ),
    )


def sorted_alike(rows: Sequence[ShownState]) -> list[ShownState]:
    """Keep the order of first appearance, but bring rows that say the same together."""
    first: dict[tuple[object, ...], int] = {}
    for place, row in enumerate(rows):
        first.setdefault(alike(row), place)
    return sorted(rows, key=lambda row: first[alike(row)])


def alike(row: ShownState) -> tuple[object, ...]:
    """What rows must share to stand on one line: values may differ among those that are good."""
    good = row.shown in ("pass", "na", "stale")
    return row.item, row.shown, row.reason, "" if good else row.detail


def line_of(
    rows: Sequence[ShownState],
    *,
    cluster: Cluster,
    hostname: str,
    rules: Rules,
    language: str,
    current: bool = False,
) -> Line:
    """One line for rows that say the same."""
    row = rows[0]
    item = rules.item
    return Line(
        item=row.item,
        title=item.texts(language).title,
        verdict=row.shown,
        on=subjects_said([each.subject for each in rows]),
        value=rules.measured([each.value for each in rows]),
        needs=rules.needed(row.value),
        why=why(row),
        shadow=row.shadow,
        warning=row.severity == "warning",
        measured_at=max((each.measured_at for each in rows if each.measured_at), default=None),
        since=row.since,
        href=item_href(cluster, hostname, row.item, row.subject),
        subject=row.subject,
        hostname=hostname,
        current=current,
        waits=waits_for_start(row),
    )


def why(row: ShownState) -> str:
    """Why the row is no pass, in one phrase; empty where value against threshold says it all."""
    if row.reason == "not_loaded":
        return load_said(row) or str(words.REASONS["not_loaded"])
    if row.shown == "stale":
        return str(words.REASONS["stale"])
    if row.raw in ("pass", "na"):
        return ""
    if row.reason == "criterion":
        return ""
    return reason_said(row.reason, row.detail)


def waits_for_start(row: ShownState) -> bool:
    """Whether it says nothing about health: not proved yet, or too long ago, and not asked for until a start."""
    if row.shown == "stale":
        return row.cadence not in ("tick", "daily")
    return row.raw == "unknown" and row.reason in UNPROVED and row.blocks < 2


def load_said(row: ShownState) -> str:
    """How much of the proof under load there is; empty where none is asked for."""
    load = load_of(row)
    return _("loaded %(seconds)d s of %(needed)d") % {"seconds": load[0], "needed": load[1]} if load else ""


def load_of(row: ShownState) -> tuple[int, int] | None:
    """Loaded seconds so far and those that make a proof; None where load plays no part or the proof is there."""
    load, needed = row.value.get("load"), int(PROOF_S.get(Scope(row.scope), 0))
    if not load or not needed or load.get("evidence", {}).get("proved"):
        return None
    # To the second as the judge rounds it: one row must not say 34 s here and 35 s there.
    return min(round(load["seconds"]), needed), needed


def counts_of(rows: Iterable[ShownState]) -> tuple[Count, ...]:
    """How many rows show which verdict, worst first; shadow items are not counted."""
    found: dict[str, int] = {}
    for row in rows:
        if not row.shadow:
            found[row.shown] = found.get(row.shown, 0) + 1
    return tuple(Count(verdict, found[verdict]) for verdict in words.WORST_FIRST if verdict in found)
