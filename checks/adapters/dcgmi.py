"""``dcgmi diag -j`` of DCGM 3 and 4.

Its tests say neither how long they ran nor how many GPUs they loaded at once, so that a pass proves no minutes of load.
"""

from __future__ import annotations

import re

from checks.adapters import reading as made
from checks.adapters.reading import NodeOnFile, Reading, UnreadableOutput, WrongTool
from readiness_agent.parsers.dcgmi import NOT_TESTED, ROOTS, DiagnosticResult, diagnostic_results, read_dcgmi_json

_PERSISTENCE = 29  # DCGM_FR_PERSISTENCE_MODE
_MEMORY = frozenset({"memory", "gpu memory", "memtest"})
_COPIES = frozenset({"pcie", "nvbandwidth"})
_LOAD = frozenset({
    "diagnostic", "sm stress", "targeted stress", "targeted power", "pulse test", "pulse_test", "sm_stress",
    "targeted_stress", "targeted_power",
})  # fmt: skip
_GPU = re.compile(r"\bGPU ([0-9]{1,3})\b")
_DOUBLE_BIT = re.compile(r"Detected ([0-9]{1,9}) volatile double-bit ECC", re.IGNORECASE)
_REMAP = re.compile(r"\b(?:row remap|remapp)", re.IGNORECASE)


def read_dcgmi(text: str, node: NodeOnFile) -> Reading:
    """What a diagnostic says of *node*.

    Raises:
        UnreadableOutput: cut, damaged, or not laid out as dcgmi does.
        WrongTool: JSON of something else.
    """
    results = diagnostic_results(text)
    if not results:
        raise _refusal(text)
    reading = Reading()
    for result in results:
        _result(reading, result, node)
    _persistence(reading, results)
    return reading


def _refusal(text: str) -> UnreadableOutput | WrongTool:
    if not any(root in text for root in ROOTS):
        return WrongTool("This is no output of `dcgmi diag -j`; name the tool that wrote it.")
    said = "; ".join(read_dcgmi_json(text).problems) or "it holds no test with a result"
    return UnreadableOutput(f"The diagnostic cannot be read: {said}. Send the whole output of `dcgmi diag -j`.")


def _result(reading: Reading, result: DiagnosticResult, node: NodeOnFile) -> None:
    name, said = result.test.lower(), "; ".join(result.warnings) or f"{result.test}: {result.status}"
    subject = _subject(result, node)
    if result.status in NOT_TESTED:
        reading.remark(result.test, result.status, made.NOT_TESTED)
        return
    if subject is None:
        reading.remark(f"{result.test}, GPU {result.gpu}", result.status, made.NO_PART)
        return
    told = _health(reading, result, subject)
    if name in _MEMORY:
        _memory(reading, result, subject)
    elif name in _COPIES and _copies(reading, result, subject, said):
        return
    elif name in _LOAD and result.status == "Fail":
        reading.failed("gpu-burn", f"dcgmi {result.test}: {said}", subject)
    elif name in _LOAD:
        reading.open(
            "gpu-burn", f"dcgmi does not say how long {result.test} ran; 20 min of load are asked for", subject
        )
    elif not told:
        reading.remark(result.test, said if result.warnings else result.status, made.NO_ITEM)


def _subject(result: DiagnosticResult, node: NodeOnFile) -> str | None:
    """The result's GPU; the whole node where it names none, and None where the node has no such GPU."""
    if result.gpu is None:
        return "gpu0" if node.gpus == 1 else ""
    return node.gpu(result.gpu)


def _copies(reading: Reading, result: DiagnosticResult, subject: str, said: str) -> bool:
    """The rate to the GPU, and that the test failed: it may have for the other way, whose rate no criterion asks for.

    Whether it told either.
    """
    measured, failed = result.host_to_gpu is not None and bool(subject), result.status == "Fail"
    if measured:
        reading.fact("gpu-peer-bandwidth", "host_to_device", result.host_to_gpu, "GB/s", subject)
    if failed:
        reading.failed("gpu-peer-bandwidth", f"dcgmi {result.test}: {said}", subject)
    return measured or failed


def _memory(reading: Reading, result: DiagnosticResult, subject: str) -> None:
    """Errors are those that dcgmi reports; none where it passed over a stated part of the memory, without a warning."""
    reading.fact("gpu-memtest", "memory_share", result.memory_share, "percent", subject)
    if result.status == "Fail":
        reading.fact("gpu-memtest", "errors", max(len(result.warnings), 1), "count", subject)
    elif result.status == "Pass" and result.memory_share is not None and not result.warnings:
        reading.fact("gpu-memtest", "errors", 0, "count", subject)
    elif result.status != "Pass":
        reading.failed("gpu-memtest", f"dcgmi {result.test}: {result.status}", subject)
    reading.open("gpu-memtest", "dcgmi does not say how long it tested the memory; 2 h are asked for", subject)


def _health(reading: Reading, result: DiagnosticResult, subject: str) -> bool:
    """Errors of memory, and persistence mode, as warnings of any test tell them; whether there was one."""
    told = False
    for warning in result.warnings:
        double_bit = _DOUBLE_BIT.search(warning)
        if double_bit:
            reading.fact("gpu-ecc", "volatile_uncorrectable", int(double_bit[1]), "count", subject)
        elif _REMAP.search(warning):
            fact = "remap_failed" if "fail" in warning.lower() else "remap_pending"
            reading.fact("gpu-ecc", fact, True, "bool", subject)
        told = told or bool(double_bit) or bool(_REMAP.search(warning))
    return told or _lacks_persistence(result)


def _lacks_persistence(result: DiagnosticResult) -> bool:
    bad = result.status in ("Fail", "Warn")
    named = result.test.lower() == "persistence mode" or any(
        "persistence mode" in one.lower() for one in result.warnings
    )
    return bad and (named or _PERSISTENCE in result.error_ids)


def _persistence(reading: Reading, results: tuple[DiagnosticResult, ...]) -> None:
    """How many GPUs lack it: those that are named, or at least one."""
    lacking = [one for one in results if _lacks_persistence(one)]
    named = {one.gpu for one in lacking if one.gpu is not None}
    named |= {int(gpu) for one in lacking for warning in one.warnings for gpu in _GPU.findall(warning)}
    if lacking:
        reading.fact("persistence-mode", "gpus_without_persistence", max(len(named), 1), "count")
