"""Saved outputs whose records a probe reads too: links, the kernel's log, lspci."""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, List, Tuple

from readiness_agent.listing import counted
from readiness_agent.parsers.kernel_log import GLOBAL, MEMCG, REAPER, LogRecord, oom_kills, parse_kernel_log
from readiness_agent.parsers.lspci import LspciDevice, parse_lspci
from readiness_agent.parsers.nvlink import NvlinkGpu, parse_nvlink_errors, parse_nvlink_status
from readiness_agent.parsers.saved import Reading, Saved
from readiness_agent.parsers.xid import XID_LINE, gpu_events

_PEERMEM = "nvidia-peermem"
_SXID = re.compile(r"SXid \(PCI:([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?\): ([0-9]{1,6}), (.*)", re.I)
"""What the driver of the NVSwitches reports."""
_NONFATAL = re.compile(r"\bnon-?fatal\b", re.I)
_NOT_STARTED = re.compile(r"NVRM: GPU ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})\.[0-7]: RmInitAdapter failed", re.I)
_AMD = re.compile(r"\bamdgpu\b.*(?:ring \S+ timeout|GPU reset begin|uncorrectable|\*ERROR\*)", re.I)
_PROCESS = re.compile(r"pid='?([0-9]{1,10})'?(?:, name=([^,<>]{1,64}))?")
_LOADED = re.compile(r"loading NVIDIA UNIX .*?  ([0-9]{3,4}(?:\.[0-9]{1,3}){1,2})(?=\s)")
"""What the driver says of itself when it is loaded; the last one is in force."""


def read_nvlink_status(text: str) -> Saved:
    """Links of each GPU. Never raises."""
    reading = Reading()
    gpus = parse_nvlink_status(text)
    for gpu in gpus:
        _links(reading, gpu)
    if not gpus:
        reading.problem("there is no GPU of nvidia-smi nvlink -s in this text")
    return reading.result()


def _links(reading: Reading, gpu: NvlinkGpu) -> None:
    subject = f"gpu{gpu.place}"
    reading.fact("supported", gpu.supported, "bool", subject)
    if gpu.supported is None:
        reading.problem(f"nothing is said about the links of {subject}")
    if not gpu.complete:
        reading.problem(
            f"the links of {subject} are not all told: the output was cut, or a link is in an unknown state"
        )
    if gpu.supported and gpu.complete:
        inactive = " ".join(str(link.number) for link in gpu.links if link.speed is None)
        reading.fact("links_up", gpu.links_up, "count", subject)
        reading.fact("links", len(gpu.links), "count", subject)
        reading.fact("inactive_links", inactive or None, "text", subject)
        reading.fact("link_speed_min", gpu.slowest, "GB/s", subject)


def read_nvlink_errors(text: str) -> Saved:
    """Error counters of each GPU's links. Never raises."""
    reading = Reading()
    gpus = parse_nvlink_errors(text)
    for gpu in gpus:
        subject = f"gpu{gpu.place}"
        told = (gpu.replay, gpu.recovery, gpu.crc, gpu.effective_ber)
        if gpu.complete and all(one is None for one in told):
            reading.problem(f"no counter of {subject} is told for all of its links")
        elif gpu.complete:
            reading.fact("replay_errors", gpu.replay, "count", subject)
            reading.fact("recovery_errors", gpu.recovery, "count", subject)
            reading.fact("crc_errors", gpu.crc, "count", subject)
            reading.fact("effective_ber", gpu.effective_ber, "ratio", subject)
        else:
            reading.problem(f"the counters of {subject} are not all told: the output was cut")
    if not gpus:
        reading.problem("there is no GPU of nvidia-smi nvlink -e in this text")
    return reading.result()


def read_kernel_log(text: str) -> Saved:
    """Driver events by PCI address, and kills for want of memory. Never raises."""
    reading = Reading()
    records = parse_kernel_log(text)
    has_times = any(one.after_boot is not None or one.unix is not None for one in records)
    if not has_times and "NVRM" not in text:
        reading.problem("there is no record of a kernel's log in this text")
        return reading.result()
    events, processes = gpu_events(records), _processes(records)
    reading.fact("lines", len(records), "count")
    reading.fact("gpus_with_xids", sum(1 for one in events.values() if one.lines), "count")
    reading.fact("gpus_off_bus", sum(1 for one in events.values() if one.off_the_bus), "count")
    for address, one in events.items():
        reading.fact("xids", counted(one.counts), "text", address)
        reading.fact("nonfatal_xids", counted(one.nonfatal_counts), "text", address)
        lines = " ".join(f"{number}:{count}" for number, count in one.lines.items())
        reading.fact("xid_lines", lines or None, "text", address)
        reading.fact("processes", " ".join(processes.get(address, ())) or None, "text", address)
        reading.fact("off_bus", one.off_the_bus, "bool", address)
        reading.fact("recovery_action", one.recovery_action, "text", address)
    _other_devices(reading, records)
    kinds = [kill.kind for kill in oom_kills(records)]
    for name, kind in (("global_oom_kills", GLOBAL), ("memcg_oom_kills", MEMCG), ("oom_reaped", REAPER)):
        reading.fact(name, kinds.count(kind) or None, "count")
    loaded = [found[1] for found in (_LOADED.search(one.message) for one in records) if found]
    reading.fact("driver_version", loaded[-1] if loaded else None, "text")
    reading.fact("peermem_warnings", sum(_PEERMEM in one.message for one in records) or None, "count")
    return reading.result()


def _processes(records: Tuple[LogRecord, ...]) -> Dict[str, List[str]]:
    """``name[pid]`` of each process that an Xid names, by the address of the GPU, in the order of the log."""
    names: Dict[str, Dict[str, str]] = {}
    for record in records:
        xid = XID_LINE.search(record.message)
        process = _PROCESS.match(xid[3]) if xid else None
        if xid and process:
            own = names.setdefault(xid[1].lower(), {})
            own[process[1]] = own.get(process[1]) or process[2] or ""
    return {address: [f"{name}[{pid}]" for pid, name in own.items()] for address, own in names.items()}


def _other_devices(reading: Reading, records: Tuple[LogRecord, ...]) -> None:
    """Events of NVSwitches, GPUs that could not be started, and errors of AMD's driver."""
    sxids: Dict[str, List[Tuple[int, bool]]] = {}
    for found in filter(None, (_SXID.search(one.message) for one in records)):
        sxids.setdefault(found[1].lower(), []).append((int(found[2]), not _NONFATAL.search(found[3])))
    for address, numbers in sxids.items():
        reading.fact("sxids", counted(dict(Counter(number for number, _ in numbers))), "text", address)
        fatal = dict(Counter(number for number, is_fatal in numbers if is_fatal))
        reading.fact("fatal_sxids", counted(fatal), "text", address)
    reading.fact("nvswitches_with_sxids", len(sxids) or None, "count")
    failed = Counter(found[1].lower() for found in (_NOT_STARTED.search(one.message) for one in records) if found)
    for address, count in failed.items():
        reading.fact("init_failures", count, "count", address)
    reading.fact("amdgpu_errors", sum(bool(_AMD.search(one.message)) for one in records) or None, "count")


def read_lspci(text: str) -> Saved:
    """PCIe links of the GPUs and of the network cards; of all other devices only how many are downgraded."""
    reading = Reading()
    devices = parse_lspci(text)
    gpus = [one for one in devices if one.is_gpu]
    if not devices:
        reading.problem("there is no device of lspci -vv in this text")
        return reading.result()
    if not any(one.address for one in devices):
        for device in devices:
            _link(reading, device, "")
        return reading.result()
    reading.fact("gpus", len(gpus), "count")
    reading.fact("nvswitches", sum(one.is_nvswitch for one in devices), "count")
    reading.fact("downgraded", sum(bool(one.downgraded) for one in devices), "count")
    reading.fact("gpus_downgraded", sum(bool(one.downgraded) for one in gpus), "count")
    for device in devices:
        if device.is_gpu or device.is_nvswitch or "Ethernet" in device.kind or "Infiniband" in device.kind:
            _link(reading, device, device.address)
    acs = [one.acs_enabled for one in devices if one.acs_enabled is not None]
    reading.fact("bridges_with_acs", sum(acs) if acs else None, "count")
    return reading.result()


def _link(reading: Reading, device: LspciDevice, subject: str) -> None:
    reading.fact("kind", device.kind or None, "text", subject)
    reading.fact("width", device.width, "lanes", subject)
    reading.fact("width_max", device.width_max, "lanes", subject)
    reading.fact("generation", device.generation, "count", subject)
    reading.fact("generation_max", device.generation_max, "count", subject)
    reading.fact("downgraded", device.downgraded, "bool", subject)
    reading.fact("numa_node", device.numa_node, "count", subject)
    if device.width is None or device.generation is None:
        reading.problem(f"{device.address or 'the device'} shows no link: its speed and width are unknown")
