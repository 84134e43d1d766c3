"""LBNL NHC and AzNHC. A failed check says so of its item; a passed one proves only the figures that stand in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from checks.adapters.reading import (
    NO_FIGURE,
    NO_ITEM,
    NOT_A_NODES,
    OTHER_NODE,
    NodeOnFile,
    OtherHost,
    Reading,
    WrongTool,
)
from readiness_agent.parsers.nhc import NhcFigure, NhcLine, NhcLog, nhc_log

#: The item that a check is about, where it is about one of a node's.
_ITEMS: Mapping[str, str] = {
    "check_gpu_count": "gpu-present", "check_gpu_ecc": "gpu-ecc", "check_ecc": "gpu-ecc", "check_SDBE_ecc": "gpu-ecc",
    "check_gpu_xid": "gpu-xid", "check_nvlink_status": "gpu-nvlink-links", "check_gpu_bw": "gpu-peer-bandwidth",
    "check_nccl_allreduce": "allreduce-node", "collect_nccl_allreduce_data": "allreduce-node",
    "check_gpu_clock_throttling": "gpu-clock-throttle", "check_gpu_persistence_mode": "persistence-mode",
    "check_gpu_persistence": "persistence-mode", "check_gpu_vbios": "gpu-firmware",
    "check_VBIOS_version": "gpu-firmware",
    "check_hw_ib": "rdma-link", "check_IB_link_flapping": "rdma-link", "check_ib_link_flapping": "rdma-link",
    "check_hw_physmem": "mem-oom",
}  # fmt: skip
_OF_LINKS = ("check_ib_bw", "check_nccl_allreduce_ib_loopback", "check_ib_write_bw")
_GPU = re.compile(r"\bGPU (?:id )?([0-9]{1,2})\b")
_PAIR = re.compile(r"\(([0-9]{1,9}),([0-9]{1,9})(?:,[0-9]{1,9}){0,2}\)")
_FOUND = re.compile(r"\bfound ([0-9]{1,3})\b")
_XID = re.compile(r"Xid[^:]{0,80}(?::[0-9a-fA-F:.]{1,20}\))?[^:]{0,10}: ?([0-9]{1,3})\b")
_COPY = re.compile(r"\b(H2D|P2P) test on GPU ([0-9]{1,2})\b.*?Bandwidth ([0-9]{1,5}(?:\.[0-9]{1,6})?) is less")
_BUS = re.compile(r"(?:measured|passed,) ([0-9]{1,5}(?:\.[0-9]{1,6})?) GB/s")
_DEVICE = re.compile(r"\b(mlx[45]_[a-z0-9]{1,8})\b")
#: What a figure is multiplied by to be GB/s, by its unit.
_GIGABYTES: Mapping[str, float] = {"GB/s": 1, "Gb/s": 1 / 8, "Gbps": 1 / 8}
_RAM = re.compile(r"RAM size \(([0-9]{1,13}) ?kB\)")


def read_nhc_log(text: str, node: NodeOnFile) -> Reading:
    """What NHC says of *node*; lines of other hosts are named.

    Raises:
        WrongTool: there is no line of NHC.
        OtherHost: all of them are of other hosts.
    """
    log, reading = nhc_log(text), Reading()
    if not (log.lines or log.figures or log.healthy):
        raise WrongTool("There is no line of NHC in this text that names a check; send its log or its output.")
    _require_ours(log, node)
    alone = all(map(node.is_called, _hosts(log)))
    for line in log.lines:
        if node.is_called(line.host) if line.host else alone or line.failed:
            _line(reading, line, node)
        else:
            reading.remark(f"{line.host} {line.check}".strip(), line.said, OTHER_NODE)
    for host in log.healthy:
        reading.remark(host, "Healthy", NO_FIGURE if node.is_called(host) else OTHER_NODE)
    if alone:
        _figures(reading, log.figures, node)
    else:
        for figure in log.figures:
            reading.remark(figure.name, f"{figure.rate} {figure.unit}", OTHER_NODE)
    return reading


def _hosts(log: NhcLog) -> list[str]:
    """Who is named. Where that is anybody else, what names nobody may be theirs."""
    return [host for host in (*(line.host for line in log.lines), *log.healthy) if host]


def _require_ours(log: NhcLog, node: NodeOnFile) -> None:
    hosts = _hosts(log)
    if hosts and not any(map(node.is_called, hosts)):
        raise OtherHost(f"These lines are of {', '.join(dict.fromkeys(hosts))[:200]}, not of {node.hostname}.")


def _line(reading: Reading, line: NhcLine, node: NodeOnFile) -> None:
    item = _ITEMS.get(line.check)
    if item is None:
        why = NOT_A_NODES if line.check.startswith(_OF_LINKS) else NO_ITEM
        reading.remark(line.check or "NHC", f"{'failed' if line.failed else 'passed'}: {line.said}", why)
        return
    before, numbered = len(reading.facts), _GPU.search(line.said)
    subject = (node.gpu(int(numbered[1])) or "") if numbered and item.startswith("gpu-") else ""
    read = _READ.get(item)
    if read is not None:
        read(reading, line, subject)
    if line.failed:
        device = _DEVICE.search(line.said)
        about = node.devices.get(device[1], "") if device and item == "rdma-link" else subject
        reading.failed(item, f"NHC {line.check}: {line.said}", "" if item == "gpu-present" else about)
    elif len(reading.facts) == before:
        reading.remark(line.check, f"passed: {line.said}", NO_FIGURE)


def _count(reading: Reading, line: NhcLine, _subject: str) -> None:
    found = _FOUND.search(line.said)
    reading.fact("gpu-present", "gpus_visible", int(found[1]) if found else None, "count")


def _ecc(reading: Reading, line: NhcLine, subject: str) -> None:
    """AzNHC tells the errors since boot first, then those of the GPU's life."""
    said, pair = line.said.lower(), _PAIR.search(line.said)
    if "row remap pending" in said:
        reading.fact("gpu-ecc", "remap_pending", True, "bool", subject)
    if "row remap error" in said:
        reading.fact("gpu-ecc", "remap_failed", True, "bool", subject)
    if pair and "uncorrectable" in said:
        reading.fact("gpu-ecc", "volatile_uncorrectable", int(pair[1]), "count", subject)
    if pair and "sram uncorrectable" in said:
        reading.fact("gpu-ecc", "aggregate_sram_uncorrectable", int(pair[2]), "count", subject)


def _xid(reading: Reading, line: NhcLine, subject: str) -> None:
    found = _XID.search(line.said) if line.failed else None
    reading.fact("gpu-xid", "xids", found[1] if found else None, "text", subject)


def _copies(reading: Reading, line: NhcLine, subject: str) -> None:
    found = _COPY.search(line.said)
    if found:
        name = "host_to_device" if found[1] == "H2D" else "peer"
        reading.fact("gpu-peer-bandwidth", name, float(found[3]), "GB/s", subject)


def _bus(reading: Reading, line: NhcLine, _subject: str) -> None:
    found = _BUS.search(line.said)
    reading.fact("allreduce-node", "busbw", float(found[1]) if found else None, "GB/s")


def _persistence(reading: Reading, line: NhcLine, _subject: str) -> None:
    if line.failed:
        lacking = len({*_GPU.findall(line.said)})
        reading.fact("persistence-mode", "gpus_without_persistence", max(lacking, 1), "count")


def _memory(reading: Reading, line: NhcLine, _subject: str) -> None:
    found = _RAM.search(line.said)
    reading.fact("mem-oom", "memory_total", int(found[1]) // 1024 if found else None, "MiB")


_READ: Mapping[str, Callable[[Reading, NhcLine, str], None]] = {
    "gpu-present": _count, "gpu-ecc": _ecc, "gpu-xid": _xid, "gpu-peer-bandwidth": _copies, "allreduce-node": _bus,
    "persistence-mode": _persistence, "mem-oom": _memory,
}  # fmt: skip


def _figures(reading: Reading, figures: tuple[NhcFigure, ...], node: NodeOnFile) -> None:
    """Rates of AzNHC's log; of the copies between peers the slowest counts."""
    peers: dict[str, list[float | None]] = {}
    for figure in figures:
        kind, *numbers = figure.name.split("_GPU_") if "_GPU_" in figure.name else (figure.name,)
        gpu, rate = node.gpu(int(numbers[0].split("_")[0])) if numbers else None, _rate(figure)
        if kind == "H2D" and gpu is not None:
            reading.fact("gpu-peer-bandwidth", "host_to_device", rate, "GB/s", gpu)
        elif kind == "P2P" and gpu is not None:
            peers.setdefault(gpu, []).append(rate)
        elif kind == "nccl_all_red":
            reading.fact("allreduce-node", "busbw", rate, "GB/s")
        else:
            why = NOT_A_NODES if kind.startswith(("ib_", "nccl")) else NO_ITEM
            reading.remark(figure.name, f"{figure.rate} {figure.unit}", why)
            continue
        if rate is None:
            reading.remark(figure.name, f"{figure.rate} {figure.unit}", NO_FIGURE)
    for gpu, rates in peers.items():
        _slowest(reading, gpu, rates)


def _rate(figure: NhcFigure) -> float | None:
    """GB/s; None where the unit is none that is known."""
    share = _GIGABYTES.get(figure.unit)
    return None if share is None else figure.rate * share


def _slowest(reading: Reading, gpu: str, rates: list[float | None]) -> None:
    known = [rate for rate in rates if rate is not None]
    if len(known) == len(rates):
        reading.fact("gpu-peer-bandwidth", "peer", min(known), "GB/s", gpu)
    else:  # the slowest may be one of those that nobody can read
        reading.open("gpu-peer-bandwidth", "a rate between peers is told in a unit that is not known", gpu)
