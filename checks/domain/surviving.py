"""Whether a kernel setting will still be right after a reboot.

- A file in the ``sysctl.d`` order sets it: that value must meet the criterion.
- No file sets it: *pass* if the kernel's own default meets the criterion, or if the setting was seen good under two
  boot ids; until then *warn*.
- The files were not captured: a live value that misses stays *fail*; one that meets is *pass* only if it is the
  kernel's default, else *unknown*.
"""

from __future__ import annotations

from checks.domain.comparing import SIGNS, compare
from checks.domain.items import LIVE_DEFAULT, Criterion, Operator
from checks.domain.memory import Boot, ItemMemory
from checks.domain.outcomes import MET, Outcome, Sample, missed, unknown
from checks.domain.units import Scalar
from checks.domain.verdicts import Reason, Verdict

#: How many boots are remembered: two good ones are enough, the others keep a bad boot between them from hiding it.
_BOOTS_KEPT = 4
_GOOD_BOOTS = 2


def remember_boot(memory: ItemMemory, boot: str, live: Scalar | None) -> list[Boot]:
    """The boots under which the live value was seen, the latest last, with this one."""
    known = memory.get("boots", [])
    if live is None:
        return known
    return [*(one for one in known if one["boot"] != boot), Boot(boot=boot, live=live)][-_BOOTS_KEPT:]


def survives(criterion: Criterion, sample: Sample) -> Outcome:
    """What the ``survives`` criterion says of the sample."""
    state = sample.value.get("facts", {}).get("configured_state")
    return _BY_STATE.get(str(state), _not_captured)(criterion, sample)


def _set(criterion: Criterion, sample: Sample) -> Outcome:
    configured = sample.fact(criterion.fact)
    if isinstance(configured, Outcome):
        return configured
    return MET if _good(criterion, configured) else _missed(criterion, sample, criterion.fact, configured)


def _unset(criterion: Criterion, sample: Sample) -> Outcome:
    live = sample.fact("live")
    if isinstance(live, Outcome):
        return live
    if _default_is_good(criterion, live):
        return MET
    good = sum(_good(criterion, boot["live"]) for boot in sample.value.get("boots", []))
    if good >= _GOOD_BOOTS:
        return MET
    detail = "no file sets it, and it was not yet seen good after a reboot"
    return Outcome(Verdict.WARN, Reason.ONE_BOOT, detail)


def _not_captured(criterion: Criterion, sample: Sample) -> Outcome:
    live = sample.fact("live")
    if isinstance(live, Outcome):
        return live
    if not _good(criterion, live):
        return _missed(criterion, sample, "live", live)
    if criterion.kernel_default == LIVE_DEFAULT or _is_default(criterion, live):
        return MET
    return unknown(
        Reason.NOT_CAPTURED, "the files that set it at boot were not read, and it is not the kernel's default"
    )


_BY_STATE = {"set": _set, "unset": _unset}


def _good(criterion: Criterion, value: Scalar) -> bool:
    if criterion.threshold is None or criterion.compare is None:
        return False
    return compare(criterion.compare, value, criterion.threshold)


def _default_is_good(criterion: Criterion, live: Scalar) -> bool:
    default = live if criterion.kernel_default == LIVE_DEFAULT else criterion.kernel_default
    return default is not None and not isinstance(default, tuple) and _good(criterion, default)


def _is_default(criterion: Criterion, live: Scalar) -> bool:
    return criterion.kernel_default is not None and compare(Operator.EQ, live, criterion.kernel_default)


def _missed(criterion: Criterion, sample: Sample, name: str, value: Scalar) -> Outcome:
    sign = SIGNS[criterion.compare or Operator.EQ]
    return missed(f"{sample.shown(name, value)}, needs {sign} {criterion.threshold}")
