"""Judge one item again from what nodes sent: after its facts, units or criteria were mended in the catalogue.

`checks.services.rejudge` makes verdicts of stored *values*. A value only holds what the catalogue of its time knew to
ask for; the stored report holds everything that was sent. Here the newest one of each node speaks again. What memory
made of it (gains of counters, how long something held, load, boots) stays as it was: a report cannot be remembered
twice.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Exists, OuterRef
from msgspec import structs

from checks.domain.errors import CountersignError
from checks.domain.facts import Fact, Problem, ProblemKind
from checks.domain.measuring import Measured, measure_covered
from checks.domain.memory import Value
from checks.domain.profiles import Ruleset
from checks.models import OVER, Cluster, Node, Report, Run, ScopeState, ToolEvidence
from checks.selectors.rules import catalogue_in_force, rules_in_force
from checks.services.hardware import check_serials
from checks.services.judging import judge_row_again
from checks.services.ledger import write_entry
from checks.services.node_rows import RowKey, StateRow
from checks.services.node_store import load_all, lock_node
from checks.services.rejudge import write_rejudged
from checks.services.run_judging import AUDITED_SCOPES, judge_run_items
from checks.services.runs import lock_run

#: Parts of a value that memory had a hand in.
_REMEMBERED: Final = ("gains", "held")
_KEPT: Final = ("boots", "load")


#: What another tool printed tells of some rows only, and of them only where they stand on it.
_OF_A_TOOL: Final = Exists(ToolEvidence.objects.filter(evidence_id=OuterRef("report_id")))


class NoSuchItem(CountersignError):
    """The catalogue in force has no such item."""

    code = "no_such_item"


@dataclass(frozen=True, slots=True)
class Change:
    """One verdict before and after: of a node's subject, or of a run (its name in *host*)."""

    host: str
    subject: str
    before: str
    after: str
    detail: str


@dataclass(frozen=True, slots=True)
class Rejudged:
    """What judging again came to: how many nodes and runs had evidence, and every verdict that changed."""

    judged: int
    changes: tuple[Change, ...]


def rejudge_item(
    *,
    item: str,
    clusters: Iterable[Cluster],
    since: datetime,
    by: AbstractBaseUser | None,
    reason: str,
    now: datetime,
    dry_run: bool = False,
) -> Rejudged:
    """Judge *item* again on every node and run of *clusters* with evidence that came after *since*.

    A transaction for each; with *dry_run* each is taken back, and only what it would change is told. Reports are kept
    for three days, evidence of runs for ever.

    Raises:
        NoSuchItem.
    """
    if item not in catalogue_in_force().items:
        raise NoSuchItem(f"There is no item {item!r} in the catalogue in force; see: manage.py catalog show")
    judged, changes = 0, list[Change]()
    for cluster in clusters:
        found = [*_of_cluster(cluster, item, since, now, dry_run)]
        flips = [change for one in found for change in one]
        if flips and not dry_run:
            _note(cluster, item, flips, by, reason, now)
        judged, changes = judged + len(found), changes + flips
    return Rejudged(judged, tuple(changes))


def _of_cluster(cluster: Cluster, item: str, since: datetime, now: datetime, dry_run: bool) -> Iterator[list[Change]]:
    """What changes of each node and run with evidence."""
    nodes = Node.objects.filter(cluster=cluster, retired_at=None).order_by("hostname")
    runs = Run.objects.filter(cluster=cluster).exclude(stage__in=OVER).order_by("slug")
    if catalogue_in_force().items[item].scope in AUDITED_SCOPES:
        told = (_rejudge_run(run, item, since, now, dry_run) for run in runs)
    else:
        told = (_rejudge_node(pk, item, since, now, dry_run) for pk in nodes.values_list("pk", flat=True))
    return (one for one in told if one is not None)


@transaction.atomic
def _rejudge_run(run: Run, item: str, since: datetime, now: datetime, dry_run: bool) -> list[Change] | None:
    """None where no audit told of *item* since then."""
    locked = lock_run(run)
    if not locked.evidence.filter(received_at__gte=since, covered__contains=[item]).exists():
        return None
    known = {row.pk: row.raw for row in ScopeState.objects.filter(cluster=run.cluster_id, item=item)}
    rows = judge_run_items(locked, [item], now=now).values()
    transaction.set_rollback(dry_run)
    return [
        Change(run.slug, row.subject, known.get(row.pk, ""), row.raw, row.detail)
        for row in rows
        if known.get(row.pk, "") != row.raw
    ]


@transaction.atomic
def _rejudge_node(node_id: UUID, item: str, since: datetime, now: datetime, dry_run: bool) -> list[Change] | None:
    """None where no report of the node tells of *item* since then, or the node is gone."""
    node = lock_node(node_id)
    told = Report.objects.filter(node=node_id, received_at__gte=since, body__covered__contains=[item])
    files = [*told.filter(_OF_A_TOOL).order_by("observed_at")]
    newest = told.exclude(_OF_A_TOOL).order_by("-observed_at").first()
    if node is None or not (newest or files):
        return None
    known = load_all(node)
    ruleset = rules_in_force(known.judged_under, cluster_id=node.cluster_id, profile=node.profile)
    rows = {row.key: row for row in known.states if row.item == item}
    after = dict(_judged_from(newest, rows, ruleset, item, now)) if newest is not None else {}
    for file in files:
        own = {key: row for key, row in rows.items() if row.observed_at == file.observed_at}
        after |= _judged_from(file, own, ruleset, item, now)
    write_rejudged(node, known, after, ruleset, now=now)
    hostname = Node.objects.values_list("hostname", flat=True).get(pk=node_id)
    transaction.set_rollback(dry_run)
    return [
        Change(hostname, row.subject, rows[key].raw, row.raw, row.detail)
        for key, row in after.items()
        if rows[key].raw != row.raw
    ]


def _judged_from(
    report: Report, rows: Mapping[RowKey, StateRow], ruleset: Ruleset, item: str, now: datetime
) -> Iterator[tuple[RowKey, StateRow]]:
    """Rows that are no newer than *report* and that it makes other than they are."""
    if not ruleset.applies(item):
        return
    for subject, measured in _measured(report, ruleset, item).items():
        before = rows.get((item, subject))
        if before is None or (before.observed_at is not None and before.observed_at > report.observed_at):
            continue
        value = _with_what_was_remembered(measured.value, before.value)
        after = judge_row_again(structs.replace(before, value=dict(value)), ruleset, now=now)
        if after != before:
            yield before.key, after


def _with_what_was_remembered(value: Value, stored: Mapping[str, Any]) -> Value:
    """*value* with the readings that memory made; a reading that is new is bounded by what one report can tell."""
    for part in _REMEMBERED:
        if part in value:
            value[part] = {**value[part], **stored.get(part, {})}
    for part in _KEPT:
        if part in value and part in stored:
            value[part] = stored[part]  # type: ignore[literal-required]
    return value


def _measured(report: Report, ruleset: Ruleset, item: str) -> dict[str, Measured]:
    """Step one, from what the stored report says, under the subjects on file."""
    renamed = check_serials(report.node.serials, report.body.get("serials", {})).subjects
    facts = [*_facts(report, ruleset, item, renamed)]
    problems = [
        Problem(item, renamed.get(subject, subject) if subject else subject, ProblemKind(kind), detail)
        for key, subject, kind, detail in report.body["problems"]
        if key == item
    ]
    return measure_covered(ruleset, item, facts, problems, {}, observed_at=report.observed_at, boot_id=report.boot_id)


def _facts(report: Report, ruleset: Ruleset, item: str, renamed: Mapping[str, str]) -> Iterator[Fact]:
    units = ruleset.items[item].facts
    for subject, told in report.body["facts"].get(item, {}).items():
        for name, said in told.items():
            value, unit = said if isinstance(said, list) else (said, units[name].value if name in units else "")
            yield Fact(item, renamed.get(subject, subject), name, value, unit, report.observed_at)


def _note(
    cluster: Cluster, item: str, flips: list[Change], by: AbstractBaseUser | None, reason: str, now: datetime
) -> None:
    counted = {f"{one.before} → {one.after}": 0 for one in flips}
    for one in flips:
        counted[f"{one.before} → {one.after}"] += 1
    write_entry(what="rejudged", target=item, who=by, cluster=cluster, reason=reason, now=now, data={"flips": counted})
