"""Verdicts about nodes and the links between them, and what they mean for each run: by the schedule, from trials alone.

A node has a row of scope *link*, and so has each link that was ever named bad. A run has one as well, made of the rows
of its pool: that is what its gate and its signatures know.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import Max

from checks.domain.freshness import is_stale, stale_after, valid_until
from checks.domain.items import Item
from checks.domain.link_verdicts import Said, Standing, bad_links, passed_links, standings, worst_of
from checks.domain.units import Scalar
from checks.domain.verdicts import Verdict
from checks.models import OVER, Cluster, LinkTrial, Node, Run, ScopeState
from checks.selectors.links import (
    ITEM,
    Found,
    ends_of,
    facts_and_problems,
    found_lately,
    link_states,
    link_subject,
    node_subject,
    of_this_time,
)
from checks.selectors.links import bad_links as known_bad_links
from checks.selectors.node_words import words_of_nodes
from checks.selectors.rules import ruleset_for
from checks.services.cluster_locks import lock_cluster
from checks.services.evidence import keep_text
from checks.services.judging import judge_audited
from checks.services.link_trials import end_trials
from checks.services.scope_rows import as_state, lock_scope_row, write_back

_GOOD: Final = frozenset({Verdict.PASS, Verdict.WARN})
_NAMED: Final = 5


def derive_link_items(*, now: datetime) -> int:
    """Judge nodes, links and runs of every open cluster anew; returns how many rows changed. Twice is harmless."""
    clusters = Cluster.objects.filter(closed_at=None)
    return sum(_derive(cluster, now) for cluster in clusters if ITEM in ruleset_for(cluster).applicable)


def judge_links_of(run: Run, *, now: datetime) -> None:
    """The run's row for the pool that it has now, inside a transaction that holds the run's lock."""
    ruleset = ruleset_for(run.cluster)
    if ITEM in ruleset.applicable:
        rows = {row.subject: row for row in link_states(run.cluster)}
        _derive_run(run.cluster, ruleset.items[ITEM], run, rows, now)


@transaction.atomic
def _derive(cluster: Cluster, now: datetime) -> int:
    cluster = lock_cluster(cluster.pk)
    end_trials(cluster=cluster, now=now)
    changed = _derive_links(cluster, now) if _has_news(cluster) else 0
    return changed + _derive_silent(cluster, now) + _derive_runs(cluster, now)


def _has_news(cluster: Cluster) -> bool:
    ended = LinkTrial.objects.filter(cluster=cluster).aggregate(at=Max("ended_at"))["at"]
    known = max((row.observed_at for row in link_states(cluster) if row.observed_at is not None), default=None)
    return ended is not None and (known is None or ended > known)


def _derive_links(cluster: Cluster, now: datetime) -> int:
    ruleset = ruleset_for(cluster)
    found = of_this_time(found_lately(cluster, ruleset, now), {})
    said = [Said(one.trial, one.facts, one.problem) for one in found]
    names = _names_of({node for one in found for node in one.pair})
    nodes = sorted(names, key=names.__getitem__)
    told = {node_subject(node): one for node, one in standings(nodes, said, names.__getitem__).items()}
    links = passed_links(said, known_bad_links(cluster)) | bad_links(nodes, said)
    told |= {link_subject(pair): one for pair, one in links.items()}
    item = ruleset.items[ITEM]
    return sum(_judge_standing(cluster, item, subject, told[subject], found, names, now) for subject in sorted(told))


def _derive_silent(cluster: Cluster, now: datetime) -> int:
    """Nodes that were to measure and had no trial: they are *unknown* for the reason that their own report gives."""
    item = ruleset_for(cluster).items[ITEM]
    valid = stale_after(item.cadence, timedelta(seconds=cluster.interval_s), item) or timedelta()
    heard = words_of_nodes(cluster, ITEM, since=now - valid, ticks=False, now=now)
    told = {one.word.node: one for one in heard if one.observed_at is not None and not one.word.of_node("trials")}
    rows = {row.subject: row for row in link_states(cluster)} if told else {}
    changed = 0
    for pk, hostname in Node.objects.filter(cluster=cluster, hostname__in=told).values_list("pk", "hostname"):
        one, row = told[hostname], rows.get(node_subject(str(pk)))
        at = one.observed_at or now
        if row is None or (row.raw == Verdict.UNKNOWN and (row.observed_at is None or row.observed_at < at)):
            problem = one.word.problem or "no link was measured"
            changed += _store(cluster, item, node_subject(str(pk)), {}, problem, at=at, now=now)
    return changed


def _names_of(nodes: set[str]) -> dict[str, str]:
    rows = Node.objects.filter(pk__in=[UUID(node) for node in nodes]).values_list("pk", "hostname")
    return {str(pk): hostname for pk, hostname in rows}


def _judge_standing(
    cluster: Cluster, item: Item, subject: str, standing: Standing, found: Sequence[Found], names: Mapping[str, str],
    now: datetime,
) -> bool:  # fmt: skip
    ends = set(ends_of(subject))
    lines = [_line(one, names) for one in reversed(found) if ends <= set(one.pair)]
    at, evidence = found[standing.place].ended_at, keep_text("perftest", lines, now=now)
    return _store(cluster, item, subject, standing.facts, standing.problem, at=at, evidence=evidence, now=now)


def _line(one: Found, names: Mapping[str, str]) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in one.facts.items())
    return f"{one.ended_at:%Y-%m-%d %H:%M:%S} {names[one.pair[0]]} - {names[one.pair[1]]}: {one.problem or facts}"


def _store(
    cluster: Cluster, item: Item, subject: str, told: Mapping[str, Scalar], problem: str, *, at: datetime,
    now: datetime, evidence: str = "", said: str = "",
) -> bool:  # fmt: skip
    """Judge one row; whether it changed. *said* goes before what the judge says."""
    row = lock_scope_row(cluster, item, subject, now=now)
    before = as_state(row)
    facts, problems = facts_and_problems(item, told, problem, at)
    after = judge_audited(before, item, facts, problems, now=now)
    after.observed_at, after.evidence = at, evidence
    after.valid_until = valid_until(at, item.cadence, timedelta(seconds=cluster.interval_s), item)
    if said and after.detail:
        after.detail = f"{said}: {after.detail}"[:300]
    if msgspec.structs.replace(after, counted_at=before.counted_at) == before:
        return False
    write_back(row, after)
    return True


def _derive_runs(cluster: Cluster, now: datetime) -> int:
    # Whoever changes a pool holds its run and judges it anew: that must not be written over from the old pool.
    still = Run.objects.select_for_update(no_key=True, skip_locked=True)
    runs = list(still.filter(cluster=cluster).exclude(stage__in=OVER).order_by("pk"))
    if not runs:
        return 0
    item, rows = ruleset_for(cluster).items[ITEM], {row.subject: row for row in link_states(cluster)}
    return sum(_derive_run(cluster, item, run, rows, now) for run in runs)


def _derive_run(cluster: Cluster, item: Item, run: Run, rows: Mapping[str, ScopeState], now: datetime) -> bool:
    pool = {str(pk): hostname for pk, hostname in run.pool.order_by("hostname").values_list("pk", "hostname")}
    if len(pool) == 1:
        return _derive_single(cluster, item, run, now)
    own = {hostname: rows.get(node_subject(node)) for node, hostname in pool.items()}
    times = [row.observed_at for row in own.values() if row is not None and row.observed_at is not None]
    if not times:
        return _take_back(cluster, item, run, _not_proved(list(own), own), now)
    bad = _failing(pool, rows)
    if bad is not None:
        said, row = bad
        return _store(cluster, item, run.slug, _facts_of(row), "", at=row.observed_at or now, said=said, now=now)
    unproved = [
        name for name, row in own.items() if row is None or row.raw not in _GOOD or is_stale(row.valid_until, now)
    ]
    if unproved:
        return _store(cluster, item, run.slug, {}, _not_proved(unproved, own), at=max(times), now=now)
    worst = worst_of([_facts_of(row) for row in own.values() if row is not None]) | {"nodes": len(pool)}
    return _store(cluster, item, run.slug, worst, "", at=min(times), now=now)


def _take_back(cluster: Cluster, item: Item, run: Run, why: str, now: datetime) -> bool:
    """What was proved of other nodes says nothing of a pool that nobody measured; without a row there is nothing."""
    known = ScopeState.objects.filter(cluster=cluster, scope=item.scope, item=ITEM, subject=run.slug)
    stands = known.exclude(raw=Verdict.UNKNOWN).exists()
    return stands and _store(cluster, item, run.slug, {}, why, at=now, now=now)


def _derive_single(cluster: Cluster, item: Item, run: Run, now: datetime) -> bool:
    """A run on one node has no link; that is told anew once a day."""
    row = ScopeState.objects.filter(cluster=cluster, scope=item.scope, item=ITEM, subject=run.slug).first()
    is_fresh = row is not None and row.raw == Verdict.NA and (row.observed_at or now) > now - timedelta(days=1)
    return False if is_fresh else _store(cluster, item, run.slug, {"nodes": 1}, "", at=now, now=now)


def _failing(pool: Mapping[str, str], rows: Mapping[str, ScopeState]) -> tuple[str, ScopeState] | None:
    """The first node or link of the pool that is named bad, and its row; a bad one stays so until it was measured."""
    for subject in sorted(rows):
        ends = ends_of(subject)
        if rows[subject].raw == Verdict.FAIL and ends and pool.keys() >= set(ends):
            return " - ".join(pool[end] for end in ends), rows[subject]
    return None


def _is_proved(row: ScopeState | None, now: datetime) -> bool:
    return row is not None and row.raw in _GOOD and not is_stale(row.valid_until, now)


def _not_proved(names: Sequence[str], rows: Mapping[str, ScopeState | None]) -> str:
    first = rows[names[0]]
    why = "never measured" if first is None else "measured too long ago" if first.raw in _GOOD else first.detail
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{len(names)} of {len(rows)} nodes are not proved: {', '.join(names[:_NAMED])}{more} ({names[0]}: {why})"


def _facts_of(row: ScopeState) -> dict[str, Scalar]:
    return dict(row.value.get("facts", {}))
