"""Evidence under load: what an idle sample can never prove.

A GPU is loaded at 80 % utilization or more. Loaded time grows by the gap to the previous sample if that was loaded too
and no more than 600 s away, else by at most 60 s of it; an idle sample, or one that cannot be told, ends it. 300 s of
loaded samples that all met the criteria are a *proof*, valid for 7 days. A NIC is loaded by a million packets since the
previous sample, and proved at once.

A loaded sample that misses is evidence too: it stands until a new proof, because cooling down cures nothing. The
readings are kept without thresholds, the worst of each criterion, so that evidence can be judged again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from checks.domain.items import Criterion, NeedsLoad, Operator
from checks.domain.memory import ItemMemory, Load, LoadEvidence, LoadMemory, Reading, Readings, Value
from checks.domain.operators import check, outcome, read
from checks.domain.outcomes import MET, Outcome, Sample, unknown
from checks.domain.units import Scalar, as_number
from checks.domain.verdicts import RANK, Reason, Scope, Verdict

#: Least utilization of a loaded GPU, in percent.
LOADED_PERCENT = 80
#: Least packets between two samples of a loaded NIC.
LOADED_PACKETS = 1_000_000
#: Loaded seconds that are a proof, by scope.
PROOF_S = {Scope.GPU: 300.0, Scope.NIC: 0.0}
#: Two loaded samples further apart say nothing about the time between them.
LONGEST_GAP_S = 600.0
#: The most that counts of the time before a first loaded sample.
FIRST_GAP_S = 60.0
#: How long a proof, or a failure under load, counts.
VALID_FOR = timedelta(days=7)
#: How often a proof that goes on is dated anew: its end is known to the hour, and it is not written each time.
RENEWED_EVERY_S = 3600.0
#: What a NIC's load is read from.
PACKETS = Criterion("packets", Operator.DELTA_OVER)

_HIGH_IS_WORSE = frozenset({Operator.LT, Operator.LE, Operator.DELTA_OVER})
_LOW_IS_WORSE = frozenset({Operator.GT, Operator.GE})
_DISTINCT_KEPT = 8


def remember_load(sample: Sample, before: ItemMemory, *, at: float, boot: str) -> LoadMemory:
    """The load after one more sample, and the evidence that counts from now on."""
    last = _last(before, boot)
    after = LoadMemory(loaded=is_loaded(sample), seconds=0.0, at=at, span={})
    if "evidence" in last:
        after["evidence"] = last["evidence"]
    if not after["loaded"]:
        return after
    readings = _readings(sample)
    verdicts = _verdicts(sample, readings)
    if Verdict.FAIL in verdicts:
        after["evidence"] = LoadEvidence(at=at, proved=False, worst={key: [one] for key, one in readings.items()})
    elif Verdict.UNKNOWN not in verdicts:
        _go_on(sample, last, after, readings)
    return after


def _last(before: ItemMemory, boot: str) -> LoadMemory:
    """The load that was going on. A reboot ends it, and leaves the evidence."""
    nothing = LoadMemory(loaded=False, seconds=0.0)
    last = before.get("load", nothing)
    if before.get("boot") == boot:
        return last
    if "evidence" in last:
        nothing["evidence"] = last["evidence"]
    return nothing


def _go_on(sample: Sample, last: LoadMemory, after: LoadMemory, readings: dict[str, Reading]) -> None:
    """Add one good loaded sample to the load that is going on; when that has lasted long enough, it is a proof."""
    gap = max(after["at"] - last.get("at", after["at"]), 0.0)
    goes_on = last["loaded"] and gap <= LONGEST_GAP_S
    needed = PROOF_S.get(sample.item.scope, math.inf)
    after["seconds"] = min(last["seconds"] + gap if goes_on else min(gap, FIRST_GAP_S), needed)
    after["span"] = _worst(sample, last.get("span", {}) if goes_on else {}, readings)
    if after["seconds"] >= needed and not _proves_the_same(last.get("evidence"), after):
        after["evidence"] = LoadEvidence(at=after["at"], proved=True, worst=after["span"])


def _proves_the_same(evidence: LoadEvidence | None, after: LoadMemory) -> bool:
    """Whether a proof of a moment ago says all that the load which is going on says."""
    if evidence is None or not evidence["proved"] or evidence["worst"] != after["span"]:
        return False
    return 0 <= after["at"] - evidence["at"] < RENEWED_EVERY_S


def shown_load(memory: LoadMemory) -> Load:
    """The part of the remembered load that a row's value keeps."""
    load = Load(loaded=memory["loaded"], seconds=memory["seconds"])
    if "evidence" in memory:
        load["evidence"] = memory["evidence"]
    return load


def loaded_until(value: Value) -> datetime | None:
    """Until when the proof in *value* counts; none where nothing is proved."""
    evidence = value.get("load", {}).get("evidence")
    if evidence is None or not evidence["proved"]:
        return None
    return datetime.fromtimestamp(evidence["at"], UTC) + VALID_FOR


def is_loaded(sample: Sample) -> bool:
    """Whether the subject was loaded when the sample was taken; what was not measured is no load."""
    if sample.item.scope is Scope.NIC:
        least = sample.value.get("gains", {}).get(PACKETS.reading_key, [0])[0]
        return as_number(least) >= LOADED_PACKETS
    utilization = sample.fact("utilization")
    return not isinstance(utilization, Outcome) and as_number(utilization) >= LOADED_PERCENT


def outcome_under_load(criterion: Criterion, sample: Sample, now: datetime) -> Outcome:
    """What a ``needs_load`` criterion says: the sample itself where it counts, then the evidence under load."""
    load = sample.value.get("load", Load(loaded=False, seconds=0.0))
    if criterion.needs_load is NeedsLoad.PROVE or load["loaded"]:
        own = outcome(criterion, sample)
        if own.verdict is not Verdict.PASS:
            return own
    evidence = load.get("evidence")
    if evidence is None or now - datetime.fromtimestamp(evidence["at"], UTC) > VALID_FOR:
        return _not_loaded(sample, load)
    return _of_evidence(criterion, sample, evidence) or _not_loaded(sample, load)


def _of_evidence(criterion: Criterion, sample: Sample, evidence: LoadEvidence) -> Outcome | None:
    """What the evidence says; nothing where it neither proves nor fails the criterion."""
    readings = evidence["worst"].get(criterion.reading_key)
    if readings is None:
        return sample.blank(criterion.fact)
    bad = [one for one in (check(criterion, sample, reading) for reading in readings) if one is not MET]
    if bad:
        return min(bad, key=lambda one: RANK[one.verdict])
    return MET if evidence["proved"] else None


def _not_loaded(sample: Sample, load: Load) -> Outcome:
    if sample.item.scope is Scope.NIC:
        return unknown(Reason.NOT_LOADED, f"no sample with {LOADED_PACKETS} packets or more")
    needed = PROOF_S.get(sample.item.scope, 0.0)
    return unknown(Reason.NOT_LOADED, f"loaded {load['seconds']:.0f} s of {needed:.0f}")


def _readings(sample: Sample) -> dict[str, Reading]:
    found = ((criterion.reading_key, read(criterion, sample)) for criterion in sample.item.load_criteria)
    return {key: reading for key, reading in found if not isinstance(reading, Outcome)}


def _verdicts(sample: Sample, readings: Mapping[str, Reading]) -> set[Verdict]:
    return {
        check(criterion, sample, readings[criterion.reading_key]).verdict
        if criterion.reading_key in readings and criterion.operator is not Operator.SURVIVES
        else outcome(criterion, sample).verdict
        for criterion in sample.item.criteria
        if criterion.needs_load
    }


def _worst(sample: Sample, span: Readings, readings: Mapping[str, Reading]) -> Readings:
    keys = {criterion.reading_key: criterion for criterion in sample.item.load_criteria}
    return {key: _worse(keys[key], span.get(key, []), reading) for key, reading in readings.items()}


def _worse(criterion: Criterion, kept: list[Reading], new: Reading) -> list[Reading]:
    """The readings that decide whether the criterion was met all along: one extreme, or the latest distinct ones."""
    if kept and kept[-1] == new:
        return kept
    pick = _extreme(criterion)
    if pick is None:
        return [*(one for one in kept if one != new), new][-_DISTINCT_KEPT:]
    columns = zip(*filter(None, (*kept, new)), strict=True)
    return [[pick(column, key=as_number) for column in columns]]


def _extreme(criterion: Criterion) -> Callable[..., Scalar] | None:
    if criterion.threshold_fact:
        return None
    if criterion.operator is Operator.SUSTAINED:
        return max if criterion.compare in _LOW_IS_WORSE else min if criterion.compare in _HIGH_IS_WORSE else None
    return max if criterion.operator in _HIGH_IS_WORSE else min if criterion.operator in _LOW_IS_WORSE else None
