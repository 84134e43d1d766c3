"""Logs of trainings: lines of one iteration each (Megatron, torchtitan, NeMo, Transformers), and PyTorch's watchdog.

A record without its loss is a NaN that was not printed, unless its iterations were skipped while the loss scale was
searched. The log's own counter of NaNs proves nothing.
"""

from __future__ import annotations

import math
import re
from typing import Dict, List, NamedTuple, Optional, Union

from readiness_agent.parsers.saved import Reading, Saved, whole
from readiness_agent.parsers.terminal import without_escapes

_RECORD = re.compile(r"iteration\s+([0-9]{1,12})/\s*([0-9]{1,12}) \|(.*)")
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?|nan|[+-]?inf", re.IGNORECASE)
_WORD = r"([+-]?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?|nan|[+-]?inf)"
_TITAN = re.compile(rf"\bstep:\s*([0-9]{{1,12}})\s+loss:\s*{_WORD}(?:\s+grad_norm:\s*{_WORD})?\s", re.IGNORECASE)
_NEMO = re.compile(rf"\breduced_train_loss={_WORD}, .*?\bglobal_step=([0-9]{{1,12}})(?:\.0*)?,", re.IGNORECASE)
_TRANSFORMERS = re.compile(rf"\{{'loss': '?{_WORD}'?, (?:'grad_norm': '?{_WORD}'?, )?'learning_rate': ", re.IGNORECASE)
"""A line that does not say which step it is of."""
_TIMEOUT = re.compile(
    r"\[Rank ([0-9]{1,7})\] Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=([0-9]{1,18}), "
    r"OpType=(\w+), NumelIn=([0-9]{1,18}), NumelOut=([0-9]{1,18}), Timeout\(ms\)=([0-9]{1,12})\)"
)
_COMPLETED = re.compile(r"last completed NCCL work: ([0-9]{1,18})")

_FAILURE = re.compile(
    r"CUDA out of memory[^\n]*|CUDA error: [^\n]*|NCCL error[^\n]*|ncclUnhandledCudaError[^\n]*|ncclSystemError[^\n]*"
    r"|ncclRemoteError[^\n]*|ncclInternalError[^\n]*|exitcode\s*: -?[1-9][0-9]{0,4}[^\n]*"
)
"""What PyTorch, NCCL and torchrun print of a process that ends; a healthy log has none of it."""

GRADIENT = "grad norm"
LOSS, SCALE, SKIPPED, NANS = "lm loss", "loss scale", "number of skipped iterations", "number of nan iterations"
_AFTER_LOSS = (SCALE, GRADIENT, "num zeros", SKIPPED, NANS)
"""Names that stand behind the loss: one of them without it means that it is missing, not cut."""

_LAST = {
    "learning rate": ("learning_rate", "ratio"),
    "global batch size": ("global_batch_size", "count"),
    "consumed samples": ("consumed_samples", "count"),
    "consumed tokens": ("consumed_tokens", "count"),
    SCALE: ("loss_scale", "count"),
    "samples per second": ("samples_per_second", "per_second"),
    "TFLOPs": ("tflops", "TFLOP/s"),
    "throughput per GPU (TFLOP/s/GPU)": ("tflops", "TFLOP/s"),
}
_FIRST_TOO = ("learning_rate", "loss_scale")


class Record(NamedTuple):
    """One line of the log."""

    iteration: Optional[int]
    total: Optional[int]
    values: Dict[str, float]


def read_training_log(text: str) -> Saved:
    """What the log shows of losses, skipped iterations and hung collectives. Never raises."""
    reading = Reading()
    lines = without_escapes(text).splitlines()
    records = [record for record in map(_record, lines) if record] or _other_records(lines)
    hangs = _TIMEOUT.findall(text)
    if records:
        _records(reading, records)
    if hangs:
        _hangs(reading, hangs, text)
    failure = _FAILURE.search(text)
    if failure:
        reading.fact("failure", failure[0].strip()[:200], "text")
        reading.problem(f"the training broke off: {failure[0].strip()[:200]}")
    if not records and not hangs and not failure:
        reading.problem("there is no record of a training and no message of its watchdog in this text")
    return reading.result()


def _record(line: str) -> Optional[Record]:
    found = _RECORD.search(line)
    if not found:
        return None
    values: Dict[str, float] = {}
    for segment in found[3].split("|"):
        name, colon, cell = segment.partition(":")
        if colon and _NUMBER.fullmatch(cell.strip()):
            values[name.strip()] = float(cell)
    if not line.rstrip().endswith("|") and values:  # the last cell may have lost digits
        last = found[3].rpartition("|")[2].partition(":")[0].strip()
        values.pop(last, None)
    return Record(int(found[1]), int(found[2]), values)


def _other_records(lines: List[str]) -> List[Record]:
    """Those of torchtitan, NeMo or Transformers; a number counts only where something follows it."""
    found = [one for one in map(_other_record, (f"{line} " for line in lines[:-1])) if one]
    last = _other_record(lines[-1]) if lines else None
    return [*found, last] if last else found


def _other_record(line: str) -> Optional[Record]:
    titan, nemo, plain = _TITAN.search(line), _NEMO.search(line), _TRANSFORMERS.search(line)
    step = titan[1] if titan else nemo[2] if nemo else None
    loss = titan[2] if titan else nemo[1] if nemo else plain[1] if plain else None
    norm = titan[3] if titan else plain[2] if plain else None
    if loss is None:
        return None
    told = {LOSS: float(loss), **({GRADIENT: float(norm)} if norm else {})}
    return Record(whole(step), None, told)


def _records(reading: Reading, records: List[Record]) -> None:
    reading.fact("records", len(records), "count")
    reading.fact("first_iteration", records[0].iteration, "count")
    reading.fact("last_iteration", records[-1].iteration, "count")
    reading.fact("total_iterations", records[-1].total, "count")
    _losses(reading, records)
    _extreme(reading, records, GRADIENT, "grad_norm_max")
    lost = [one for one in records if not _is_finite(one.values.get(GRADIENT, 0.0)) and not one.values.get(SKIPPED)]
    if lost:  # some trainers print a loss of 0 in the place of NaN
        reading.fact("grad_norms_not_finite", len(lost), "count")
        reading.problem(f"{_named(lost[0])} has no finite gradient norm")
    for name, fact in ((SKIPPED, "skipped_iterations"), (NANS, "nan_iterations")):
        told = _told(records, name)
        reading.fact(fact, _plain(float(round(sum(told)))) if told else None, "count")
    for name, (fact, unit) in _LAST.items():
        _latest(reading, records, name, fact, unit)
    for name, seconds in (("elapsed time per iteration (s)", 1.0), ("elapsed time per iteration (ms)", 0.001)):
        times = _told(records, name)
        reading.fact("seconds_per_iteration", round(times[-1] * seconds, 6) if times else None, "seconds")


def _losses(reading: Reading, records: List[Record]) -> None:
    losses = [record.values[LOSS] for record in records if _is_finite(record.values.get(LOSS))]
    if losses:
        reading.fact("loss_first", losses[0], "ratio")
        reading.fact("loss_last", losses[-1], "ratio")
    _extreme(reading, records, LOSS, "loss_max")
    missing = [record for record in records if _lacks_loss(record)]
    reading.fact("losses_missing", len(missing), "count")
    if missing:
        reading.fact("loss_missing_iteration", missing[0].iteration, "count")
        reading.problem(f"{_named(missing[0])} has no loss and no skipped iteration that explains it: NaN")


def _named(record: Record) -> str:
    return "a record" if record.iteration is None else f"iteration {record.iteration}"


def _lacks_loss(record: Record) -> bool:
    if LOSS in record.values:
        return not _is_finite(record.values[LOSS])
    return any(name in record.values for name in _AFTER_LOSS) and not record.values.get(SKIPPED)


def _is_finite(value: Optional[float]) -> bool:
    return value is not None and math.isfinite(value)


def _extreme(reading: Reading, records: List[Record], name: str, fact: str) -> None:
    told = [record for record in records if _is_finite(record.values.get(name))]
    if told:
        worst = max(told, key=lambda record: record.values[name])
        reading.fact(fact, worst.values[name], "ratio")
        reading.fact(f"{fact}_iteration", worst.iteration, "count")


def _latest(reading: Reading, records: List[Record], name: str, fact: str, unit: str) -> None:
    """The last value, and of what a trainer changes by itself the first one, too."""
    told = _told(records, name)
    if told:
        reading.fact(fact, _plain(told[-1]), unit)
        if fact in _FIRST_TOO:
            reading.fact(f"{fact}_first", _plain(told[0]), unit)


def _told(records: List[Record], name: str) -> List[float]:
    """The finite values of one name, in the order of the log."""
    return [record.values[name] for record in records if _is_finite(record.values.get(name))]


def _plain(value: float) -> Union[int, float]:
    """A whole number as one, where a report can carry it."""
    return int(value) if value.is_integer() and abs(value) < 2**63 else value


def _hangs(reading: Reading, hangs: List[List[str]], text: str) -> None:
    """Ranks that reported a timeout. The suspects are those that did not."""
    ranks = sorted({int(hang[0]) for hang in hangs})
    sequences = sorted({int(hang[1]) for hang in hangs})
    _, sequence, operation, given, taken, timeout = hangs[0]
    reading.fact("timed_out_ranks", " ".join(map(str, ranks)), "text")
    reading.fact("timed_out_sequence", sequences[0], "count")
    reading.fact("collective", operation, "text")
    reading.fact("timeout", int(timeout) / 1000, "seconds")
    completed = _COMPLETED.search(text)
    reading.fact("last_completed", whole(completed[1]) if completed else None, "count")
    small, large = sorted((int(given), int(taken)))
    if small and large % small == 0 and ("SCATTER" in operation or "GATHER" in operation):
        reading.fact("world_size", large // small, "count")
    reading.problem(f"ranks {', '.join(map(str, ranks))} timed out in collective {sequence} ({operation})")
