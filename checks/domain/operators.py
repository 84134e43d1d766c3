"""What each operator makes of one row's value: step two of judging, a criterion at a time.

Every operator is a pair. ``read`` takes from the value what the criterion looks at, which knows no threshold; ``check``
holds such a reading against the threshold. Evidence under load keeps readings, so that the same ``check`` serves a
sample of now and a measurement of last week.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checks.domain.comparing import SIGNS, compare
from checks.domain.errors import UnitMismatch
from checks.domain.item_checks import SPREAD
from checks.domain.items import Criterion, Operator
from checks.domain.memory import Reading
from checks.domain.outcomes import MET, Outcome, Sample, missed, unknown
from checks.domain.surviving import survives
from checks.domain.units import Threshold, as_number
from checks.domain.verdicts import Reason, Verdict
from checks.domain.versions import least_version, version

_MINUTE_S = 60

Read = Callable[[Criterion, Sample], Reading | Outcome]
Check = Callable[[Criterion, Sample, Reading], Outcome]


def outcome(criterion: Criterion, sample: Sample) -> Outcome:
    """What *criterion* says of the sample itself, whether or not it was taken under load."""
    try:
        if criterion.operator is Operator.SURVIVES:
            return survives(criterion, sample)
        reading = read(criterion, sample)
        return reading if isinstance(reading, Outcome) else check(criterion, sample, reading)
    except UnitMismatch as mismatch:
        return unknown(Reason.UNIT_MISMATCH, mismatch.message)


def too_little(criterion: Criterion, sample: Sample) -> Outcome:
    """What a criterion of ``amount`` says: less than it asks for was measured, which proves nothing either way."""
    found = outcome(criterion, sample)
    if found.verdict is not Verdict.FAIL:
        return found
    measured, asked = sample.value.get("facts", {}).get(criterion.fact), criterion.threshold
    if sample.item.facts.get(criterion.fact) == "seconds" and asked is not None and measured is not None:
        return unknown(Reason.NOT_JUDGED, f"too short: {_spans(as_number(measured), as_number(asked))}")
    return unknown(Reason.NOT_JUDGED, f"measured too little: {found.detail}")


def _spans(measured: float, asked: float) -> str:
    """Two lengths in the unit that fits the longer one."""
    return f"{measured / 60:.3g} of {asked / 60:g} min" if asked >= _MINUTE_S else f"{measured:.3g} of {asked:g} s"


def read(criterion: Criterion, sample: Sample) -> Reading | Outcome:
    """What *criterion* looks at in the sample, or why it is not there."""
    return _READS.get(criterion.operator, _read_fact)(criterion, sample)


def check(criterion: Criterion, sample: Sample, reading: Reading) -> Outcome:
    """What *criterion* says of a reading that `read` returned, now or earlier; raises nothing."""
    try:
        return _CHECKS.get(criterion.operator, _check_comparison)(criterion, sample, reading)
    except UnitMismatch as mismatch:
        return unknown(Reason.UNIT_MISMATCH, mismatch.message)


def _read_fact(criterion: Criterion, sample: Sample) -> Reading | Outcome:
    return _read_all(tuple(filter(None, (criterion.fact, criterion.threshold_fact, criterion.by))), sample)


def _read_spread(criterion: Criterion, sample: Sample) -> Reading | Outcome:
    return _read_all(tuple(criterion.fact + suffix for suffix in SPREAD), sample)


def _read_all(names: tuple[str, ...], sample: Sample) -> Reading | Outcome:
    reading: Reading = []
    for name in names:
        found = sample.fact(name)
        if isinstance(found, Outcome):
            return found
        reading.append(found)
    return reading


def _read_gain(criterion: Criterion, sample: Sample) -> Reading | Outcome:
    return sample.value.get("gains", {}).get(criterion.reading_key) or sample.blank(criterion.fact)


def _read_held(criterion: Criterion, sample: Sample) -> Reading | Outcome:
    found = sample.value.get("held", {}).get(criterion.reading_key)
    return sample.blank(criterion.fact) if found is None else found


def _check_comparison(criterion: Criterion, sample: Sample, reading: Reading) -> Outcome:
    threshold = reading[1] if criterion.threshold_fact else _threshold(criterion)
    if compare(criterion.operator, reading[0], threshold):
        return MET
    return missed(f"{sample.shown(criterion.fact, reading[0])}, needs {SIGNS[criterion.operator]} {_shown(threshold)}")


def _check_gain(criterion: Criterion, sample: Sample, reading: Reading) -> Outcome:
    least, most, allowed = as_number(reading[0]), as_number(reading[1]), as_number(_threshold(criterion))
    if most <= allowed:
        return MET
    if least > allowed:
        return missed(f"{sample.shown(criterion.fact, reading[0])} gained, needs ≤ {_shown(_threshold(criterion))}")
    detail = f"{criterion.fact} was seen once since the start; the next report shows whether it gained"
    return unknown(Reason.NOT_MEASURED, detail)


def _check_held(criterion: Criterion, sample: Sample, reading: Reading) -> Outcome:
    if not reading or criterion.compare is None or criterion.hold is None:
        return MET
    if not compare(criterion.compare, reading[0], _threshold(criterion)):
        return MET
    span, sign = int(criterion.hold.total_seconds()), SIGNS[criterion.compare]
    limit = _shown(_threshold(criterion))
    return missed(f"{sample.shown(criterion.fact, reading[0])} or beyond for {span} s, must not be {sign} {limit}")


def _check_spread(criterion: Criterion, sample: Sample, reading: Reading) -> Outcome:
    low, high, mean = (as_number(one) for one in reading)
    if mean <= 0 or high < low:
        return unknown(Reason.UNREADABLE, f"{criterion.fact} has no positive mean, so its spread says nothing")
    spread = (high - low) / mean
    if spread <= as_number(_threshold(criterion)):
        return MET
    return missed(f"{criterion.fact} spreads by {spread:.4g} of its mean, needs ≤ {_shown(_threshold(criterion))}")


def _check_new_enough(criterion: Criterion, sample: Sample, reading: Reading) -> Outcome:
    """A row that the table lacks is *unknown*: nobody told us what is needed, which is not that nothing is."""
    measured, wanted_by = (str(one) for one in reading)
    least = least_version(_threshold(criterion), wanted_by)
    if least is None:
        return unknown(Reason.NO_THRESHOLD, f"nothing states which {criterion.fact} {criterion.by} {wanted_by} needs")
    if version(measured) >= version(least):
        return MET
    return missed(f"{criterion.fact} {measured}, {criterion.by} {wanted_by} needs ≥ {least}")


def _check_uniform(criterion: Criterion, sample: Sample, reading: Reading) -> Outcome:
    """One node's value is good once it is known; nodes are compared when somebody asks (`checks.domain.uniform`)."""
    return MET


def _threshold(criterion: Criterion) -> Threshold:
    if criterion.threshold is None:
        raise UnitMismatch(f"nothing states a threshold for {criterion.fact}")
    return criterion.threshold


def _shown(threshold: Threshold) -> str:
    if isinstance(threshold, tuple):
        return ", ".join(_shown(one) for one in threshold)
    return str(threshold).lower() if isinstance(threshold, bool) else str(threshold)


_READS: Mapping[Operator, Read] = {
    Operator.DELTA_OVER: _read_gain,
    Operator.SUSTAINED: _read_held,
    Operator.BALANCED: _read_spread,
}
_CHECKS: Mapping[Operator, Check] = {
    Operator.DELTA_OVER: _check_gain,
    Operator.SUSTAINED: _check_held,
    Operator.BALANCED: _check_spread,
    Operator.NEW_ENOUGH: _check_new_enough,
    Operator.UNIFORM: _check_uniform,
}
