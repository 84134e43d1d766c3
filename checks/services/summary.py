"""One node's rows, rolled up: the counts, limits and digests that every answer about the node is derived from.

Nothing is decided here. Freshness is left to the reader's clock, waivers to the reader's transaction.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import structs

from checks.domain.manifest import Leaf, has_leaf, layer_digest
from checks.domain.profiles import Ruleset
from checks.domain.uniform import fingerprint
from checks.domain.verdicts import RANK, Cadence, Layer, Severity, Verdict
from checks.services.node_rows import ReadinessRow, RowKey, StateRow

HEALTH_CADENCES: Final = frozenset({Cadence.TICK, Cadence.DAILY})
ALL_LAYERS: Final = frozenset(Layer)
_MEASURED: Final = frozenset({Verdict.PASS, Verdict.WARN, Verdict.FAIL})
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
_MOST_RULESETS: Final = 1024
_shadow_counts: dict[str, dict[Layer, int]] = {}
_ZERO: Final[dict[str, Any]] = {
    "expected": 0, "pass": 0, "warn": 0, "fail": 0, "unknown": 0, "na": 0, "shadow": 0,
    "health_bad": 0, "start_bad": 0, "worst": "", "until": None,
}  # fmt: skip


def summarise(
    rows: Collection[StateRow],
    ruleset: Ruleset,
    *,
    before: ReadinessRow | None,
    changed: Collection[str] = ALL_LAYERS,
) -> ReadinessRow:
    """The summary of all of a node's *rows*, judged by *ruleset*.

    Stamps and what the last report said stay as they were *before*; the digests of layers that are not among the
    *changed* ones stay too.
    """
    summary = structs.replace(before) if before is not None else ReadinessRow()
    summary.judged_under = ruleset.judged_under
    summary.layers = _count_layers(rows, ruleset)
    summary.health_bad = sum(layer["health_bad"] for layer in summary.layers.values())
    summary.start_bad = sum(layer["start_bad"] for layer in summary.layers.values())
    summary.start_until = min((end for row in rows if (end := _end(row)) is not None), default=None)
    summary.health_failed = sum(row.blocks == 2 and row.raw == Verdict.FAIL for row in rows)
    summary.uniform = _fingerprint(rows, ruleset)
    _count_health(summary, rows)
    kept = {layer: held for layer, held in summary.digests.items() if layer not in changed}
    summary.digests = kept | {layer: _signed_digest(layer, rows, ruleset) for layer in changed if layer not in kept}
    return summary


def summarise_report(
    known: Mapping[RowKey, StateRow],
    after: Mapping[RowKey, StateRow],
    written: Iterable[StateRow],
    ruleset: Ruleset,
    *,
    before: ReadinessRow | None,
) -> ReadinessRow:
    """The summary after a report that changed the rows *written* of those *known*, and made *after* of them all.

    A sound node's report changes values and ages: then nothing is counted again.
    """
    if before is None or before.judged_under != ruleset.judged_under:
        return summarise(after.values(), ruleset, before=before)
    changes = [(known.get(row.key), row) for row in written]
    if all(one is not None and _counts_as(one, row, ruleset) for one, row in changes) and before.uniform:
        return _renewed(before, after.values())
    layers = {row.layer for one, row in changes if one is None or _leaf(one) != _leaf(row)}
    return summarise(after.values(), ruleset, before=before, changed=layers)


def _counts_as(before: StateRow, after: StateRow, ruleset: Ruleset) -> bool:
    """Whether nothing that a summary counts, signs or compares is another; when evidence ends is asked apart."""
    return (
        before.raw == after.raw
        and before.blocks == after.blocks
        and _leaf(before) == _leaf(after)
        and after.item not in ruleset.compared
    )


def _leaf(row: StateRow) -> tuple[object, ...]:
    """What the row's leaf in its layer's digest is made of."""
    return row.settled, row.epoch, row.identity, row.item_version


def _renewed(before: ReadinessRow, rows: Iterable[StateRow]) -> ReadinessRow:
    """*before* with the ends of evidence as they are now."""
    ends: dict[str, datetime] = {}
    for row in rows:
        end = _end(row)
        if end is not None and end < ends.get(row.layer, _LATEST):
            ends[row.layer] = end
    layers = {layer: {**counts, "until": ends.get(layer)} for layer, counts in before.layers.items()}
    return structs.replace(before, layers=layers, start_until=min(ends.values(), default=None))


def _count_health(summary: ReadinessRow, rows: Iterable[StateRow]) -> None:
    """Rows that the question *health* is about: blockers that apply, node-held, of tick and daily cadence."""
    asked = [row for row in rows if row.cadence in HEALTH_CADENCES and _matters(row)]
    summary.tick_expected = sum(row.cadence == Cadence.TICK for row in asked)
    summary.daily_expected = len(asked) - summary.tick_expected
    summary.health_pass_physical = sum(row.raw == Verdict.PASS and row.layer == Layer.PHYSICAL for row in asked)
    summary.health_pass_system = sum(row.raw == Verdict.PASS and row.layer == Layer.SYSTEM for row in asked)


def _fingerprint(rows: Iterable[StateRow], ruleset: Ruleset) -> str:
    """What the node brings to the gate's comparison of nodes; see `checks.domain.uniform`."""
    return fingerprint(
        (ruleset.items[row.item], row.value.get("facts", {}))
        for row in rows
        if row.item in ruleset.compared and row.raw in _MEASURED
    )


def _count_layers(rows: Iterable[StateRow], ruleset: Ruleset) -> dict[str, dict[str, Any]]:
    """Counts a layer; items in shadow mean nothing to a gate, so only those expected are counted, apart."""
    shadow = _shadow_rows(ruleset)
    layers = {layer.value: {**_ZERO, "shadow": shadow[layer]} for layer in Layer}
    for row in rows:
        if row.shadow:
            continue
        counts = layers[row.layer]
        counts[row.raw] += 1
        counts["expected"] += row.raw != "na"
        counts["health_bad"] += row.blocks == 2
        counts["start_bad"] += row.blocks >= 1
        if not counts["worst"] or RANK[row.raw] < RANK[counts["worst"]]:  # type: ignore[index]
            counts["worst"] = row.raw
        end = _end(row)
        if end is not None and (counts["until"] is None or end < counts["until"]):
            counts["until"] = end
    return layers


def _shadow_rows(ruleset: Ruleset) -> dict[Layer, int]:
    """How many rows of items in shadow the rules expect, a layer; counted once for each set of rules."""
    known = _shadow_counts.get(ruleset.judged_under)
    if known is None:
        shadow = [key for key in ruleset.node_items() if ruleset.items[key].shadow and ruleset.applies(key)]
        known = dict.fromkeys(Layer, 0)
        for key in shadow:
            known[ruleset.items[key].layer] += len(ruleset.subjects(key))
        if len(_shadow_counts) >= _MOST_RULESETS:
            _shadow_counts.clear()
        _shadow_counts[ruleset.judged_under] = known
    return known


def _end(row: StateRow) -> datetime | None:
    """When evidence ends that a start needs and that does not renew itself."""
    return row.valid_until if row.valid_until is not None and _matters(row) else None


def _matters(row: StateRow) -> bool:
    return row.severity == Severity.BLOCKER and not row.shadow and row.raw != "na"


def _signed_digest(layer: str, rows: Iterable[StateRow], ruleset: Ruleset) -> str:
    """The node's hash of one layer, over what has settled so far: what a signature on it covers of this node."""
    leaves = (
        Leaf(item, row.subject, Verdict(row.settled), row.identity, row.epoch)
        for row in rows
        if row.layer == layer and row.settled and (item := ruleset.items.get(row.item)) is not None and has_leaf(item)
    )
    return layer_digest(Layer(layer), leaves)
