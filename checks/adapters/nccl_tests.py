"""``all_reduce_perf`` of nccl-tests, on one node.

The figure is the bus bandwidth at the largest size. Which operation ran does not stand in older outputs: it shows in
what the bus bandwidth is of the algorithm's, which for an all-reduce over n ranks is 2 (n - 1) / n.
"""

from __future__ import annotations

import re

from checks.adapters.reading import NO_ITEM, NodeOnFile, OtherHost, Reading, UnreadableOutput, WrongTool
from readiness_agent.parsers.nccl_tests import read_nccl_tests
from readiness_agent.parsers.saved import Saved, Value

_ITEM = "allreduce-node"
_HOST = re.compile(r"^#?[ \t]*Rank[ \t]+[0-9]{1,7}\b.{0,60}?\bon[ \t]+(\S{1,253})[ \t]+device[ \t]", re.MULTILINE)
_MARKS = re.compile(
    r"\bnThread\b|\balgbw\b|\bNCCL (?:INFO|WARN|version|failure|Tests)|Avg bus bandwidth|Out of bounds values"
    r"|[a-z]_perf\b|slots available"
)
_REDUCES = re.compile(r"^[ \t]*[0-9]+[ \t]+[0-9]+[ \t]+[a-z][a-z0-9_]*[ \t]+(?:sum|prod|min|max|avg)\b", re.MULTILINE)
_TOLERANCE = 0.03
#: Bytes below which the bus bandwidth still grows with the size, and a low figure is no fault.
_SATURATES = 1024**3


def read_nccl(text: str, node: NodeOnFile) -> Reading:
    """What one run says of *node*.

    Raises:
        WrongTool: no output of nccl-tests.
        OtherHost: its ranks ran elsewhere.
    """
    if not _MARKS.search(text):
        raise WrongTool("This is no output of nccl-tests; name the tool that wrote it.")
    hosts = list(dict.fromkeys(_HOST.findall(text)))
    if hosts and not any(map(node.is_called, hosts)):
        raise OtherHost(f"The ranks of this run were on {', '.join(hosts)[:200]}, not on {node.hostname}.")
    saved, reading = read_nccl_tests(text), Reading()
    told = {fact.name: fact.value for fact in saved.facts}
    if not told and not saved.problems:
        raise UnreadableOutput("There is no table of nccl-tests in this text; send the whole output.")
    _correctness(reading, told)
    if len(hosts) > 1:
        reading.open(_ITEM, f"it ran over {len(hosts)} hosts; one node's all-reduce is asked for")
    else:
        _figure(reading, text, saved, told, node)
    return reading


def _correctness(reading: Reading, told: dict[str, Value]) -> None:
    """Values that came back wrong are wrong whatever the operation was; older outputs count those out of bounds."""
    wrong, outside = told.get("wrong"), told.get("out_of_bounds")
    bad = [one for one in (wrong, outside) if isinstance(one, int) and one > 0]
    relative = told.get("relative_error_max")
    if bad:
        reading.fact(_ITEM, "wrong", max(bad), "count")
    elif isinstance(wrong, int):
        reading.fact(_ITEM, "wrong", wrong, "count")
    elif isinstance(relative, float):
        reading.remark("largest relative error", relative, NO_ITEM)


def _figure(reading: Reading, text: str, saved: Saved, told: dict[str, Value], node: NodeOnFile) -> None:
    reading.fact(_ITEM, "gpus", told.get("gpus"), "count")
    for sentence in saved.problems:
        reading.failed(_ITEM, f"nccl-tests: {sentence}")
    if "busbw" not in told:
        return
    if other := _is_another_test(text, told, node):
        reading.open(_ITEM, other)
        reading.remark("busbw", f"{told['busbw']} GB/s", NO_ITEM)
        return
    reading.fact(_ITEM, "busbw", told["busbw"], "GB/s")
    reading.fact(_ITEM, "message_size", told.get("message_size"), "bytes")


def _is_another_test(text: str, told: dict[str, Value], node: NodeOnFile) -> str:
    """Why the figure cannot be held against the node's floor, for good or bad; empty where it can."""
    size = told.get("message_size")
    if not _is_all_reduce(text, told):
        return "this run is no all-reduce, or does not show that it is one"
    if told["gpus"] != node.gpus:
        return f"it ran on {told['gpus']} of {node.gpus} GPUs"
    if not isinstance(size, int) or size < _SATURATES:
        return f"at {size} bytes the links are not busy yet; 16 GiB are asked for"
    return ""


def _is_all_reduce(text: str, told: dict[str, Value]) -> bool:
    gpus, busbw, algbw = told.get("gpus"), told["busbw"], told.get("algbw")
    if not (isinstance(gpus, int) and gpus > 1 and isinstance(busbw, float) and isinstance(algbw, float) and algbw > 0):
        return False
    share = busbw / algbw / (2 * (gpus - 1) / gpus)
    return abs(share - 1) <= _TOLERANCE and _REDUCES.search(text) is not None
