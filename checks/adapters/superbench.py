"""``results-summary.jsonl`` of SuperBench: the numbers of the benchmarks that measure what an item asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from checks.adapters.reading import NO_ITEM, OTHER_NODE, NodeOnFile, OtherHost, Reading, UnreadableOutput, WrongTool
from readiness_agent.parsers.documents import Unreadable
from readiness_agent.parsers.superbench import RETURN_CODE, Metric, NodeResults, superbench_results

_BUS = re.compile(r"allreduce_([0-9]{1,15})_busbw")
_PASS = re.compile(r"gpu_([0-9]{1,2})_pass")
_TO_GPU = re.compile(r"cpu_to_gpu([0-9]{1,2})_by_(?:sm|dma)_under_numa[0-9]{1,3}_bw")
_PEER = re.compile(r"gpu([0-9]{1,2})_to_gpu([0-9]{1,2})_(?:read|write)_by_(?:sm|dma)_bw")
_COPY = re.compile(
    r"(?:cpu|gpu(?:[0-9]{1,2}|_all))_(?:to|and)_(?:cpu|gpu(?:[0-9]{1,2}|_all))(?:_read|_write)?"
    r"_by_(?:sm|dma)(?:_under_numa[0-9]{1,3})?_bw"
)
"""Every copy that SuperBench measures; only some of them are asked for."""
_COPIES = "gpu-copy-bw"
_LIKE_A_COPY = re.compile(r"gpu-copy-bw|_to_gpu|_by_(?:sm|dma)|_(?:read|write)_by")
"""Signs of a copy, of which a damaged name keeps at least one."""
_ITEMS = {
    "nccl-bw": "allreduce-node",
    "gpu-burn": "gpu-burn",
    _COPIES: "gpu-peer-bandwidth",
}


def read_summary(text: str, node: NodeOnFile) -> Reading:
    """What the summary says of *node*; other nodes are named.

    Raises:
        WrongTool: no summary of SuperBench, or cut.
        OtherHost: the node is not in it.
        UnreadableOutput: the node is in it more than once.
    """
    try:
        nodes = superbench_results(text)
    except Unreadable as error:
        raise WrongTool(f"This is no results-summary.jsonl of SuperBench: {error.detail}.") from error
    ours = [one for one in nodes if node.is_called(one.node)]
    if not ours:
        names = ", ".join(one.node for one in nodes)[:200]
        raise OtherHost(f"This summary is about {names}, not about {node.hostname}.")
    if len(ours) > 1:
        raise UnreadableOutput(f"This summary names {node.hostname} {len(ours)} times; send the summary of one run.")
    reading = Reading()
    for other in nodes:
        if other is not ours[0]:
            reading.remark(other.node, f"{len(other.metrics)} metrics", OTHER_NODE)
    _results(reading, ours[0], node)
    return reading


def _results(reading: Reading, results: NodeResults, node: NodeOnFile) -> None:
    broken = {one.benchmark for one in results.metrics if one.name == RETURN_CODE and one.value}
    for benchmark in sorted(broken):
        item = _ITEMS.get(benchmark)
        if item is not None:
            reading.failed(item, f"SuperBench {benchmark} ended with an error")
        else:
            reading.remark(benchmark, "ended with an error", NO_ITEM)
    sound = [one for one in results.metrics if one.benchmark not in broken and one.name != RETURN_CODE]
    strange = [one.name for one in sound if _LIKE_A_COPY.search(f"{one.benchmark}/{one.name}") and not _is_copy(one)]
    strange += [name for name in results.unread if _LIKE_A_COPY.search(name)]
    left = _copies(reading, _burn(reading, _all_reduce(reading, sound), node), node, strange)
    for metric in left:
        reading.remark(f"{metric.benchmark}/{metric.name}", f"{metric.value:g}", NO_ITEM)
    for name in results.unread:
        reading.remark(name, "no number", NO_ITEM)


def _all_reduce(reading: Reading, metrics: Iterable[Metric]) -> list[Metric]:
    """The bus bandwidth at the largest size, the slowest of several; returns what is something else."""
    rates: dict[int, float] = {}
    left = []
    for metric in metrics:
        found = _BUS.fullmatch(metric.name) if metric.benchmark == "nccl-bw" else None
        if found:
            rates[int(found[1])] = min(rates.get(int(found[1]), metric.value), metric.value)
        else:
            left.append(metric)
    if rates:
        reading.fact("allreduce-node", "busbw", rates[max(rates)], "GB/s")
        reading.fact("allreduce-node", "message_size", max(rates), "bytes")
        reading.open(
            "allreduce-node", "SuperBench tells neither the number of GPUs nor whether the values came back right"
        )
    return left


def _burn(reading: Reading, metrics: Iterable[Metric], node: NodeOnFile) -> list[Metric]:
    """gpu-burn compares the results of every multiplication; it tells how long it ran, and no TFLOP/s."""
    told = [one for one in metrics if one.benchmark == "gpu-burn"]
    seconds = min((one.value for one in told if one.name == "time"), default=None)
    for metric in told:
        found = _PASS.fullmatch(metric.name)
        subject = node.gpu(int(found[1])) if found else None
        if subject is not None:
            reading.fact("gpu-burn", "checksums_equal", metric.value == 1, "bool", subject)
            reading.fact("gpu-burn", "duration", seconds, "seconds", subject)
        if metric.name == "abort" and metric.value:
            reading.failed("gpu-burn", "SuperBench gpu-burn stopped before its end")
    return [one for one in metrics if one.benchmark != "gpu-burn"]


def _is_copy(metric: Metric) -> bool:
    return metric.benchmark == _COPIES and bool(_COPY.fullmatch(metric.name))


def _copies(reading: Reading, metrics: Iterable[Metric], node: NodeOnFile, strange: list[str]) -> list[Metric]:
    """From the host the fastest NUMA node counts, which is the GPU's own; between peers the slowest pair.

    A *strange* name of a copy may be that of the slowest pair, damaged: then no GPU is known to pass.
    """
    host: dict[str, float] = {}
    peer: dict[str, float] = {}
    left = []
    for metric in metrics:
        to_gpu, between = _TO_GPU.fullmatch(metric.name), _PEER.fullmatch(metric.name)
        copied = to_gpu or (between if between and between[1] != between[2] else None)
        subject = node.gpu(int(copied[1])) if copied and metric.benchmark == _COPIES else None
        if subject is None:
            left.append(metric)
        elif to_gpu:
            host[subject] = max(host.get(subject, metric.value), metric.value)
        else:
            peer[subject] = min(peer.get(subject, metric.value), metric.value)
    for name, rates in (("host_to_device", host), ("peer", peer)):
        for subject, rate in rates.items():
            reading.fact("gpu-peer-bandwidth", name, rate, "GB/s", subject)
    for subject in {**host, **peer} if strange else ():
        reading.open("gpu-peer-bandwidth", f"{strange[0][:120]} is no copy that SuperBench names", subject)
    return left
