"""Access Control Services on the bridges between GPUs, network cards and the processor."""

from __future__ import annotations

import re
from typing import Set

from readiness_agent.facts import DENIED, ERROR, MISSING, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.parsers.lspci import parse_lspci
from readiness_agent.probes.subjects import PCI_DEVICES, gpus_on_bus
from readiness_agent.source import Probe, ProbeContext, Source

ITEM = "iommu-acs"
ARGV = ("lspci", "-D", "-vvv")
CARDS = "/sys/class/infiniband/*/device/uevent"

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_HIDDEN = "<access denied>"


def measure(source: Source, _: ProbeContext) -> ProbeResult:
    """How many of the bridges above GPUs and RDMA cards check where a request comes from."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM):
        devices = gpus_on_bus(source)
        if not devices:
            raise CouldNotMeasure(MISSING, "the PCI bus shows no GPU")
        bridges: Set[str] = set()
        for address in [*devices, *_cards(source)]:
            bridges |= _above(source, address)
        found = {one.address: one.acs_enabled for one in parse_lspci(_listing(source))}
        unseen = sorted(bridges - set(found))
        if unseen:
            raise Unreadable(f"lspci does not show the bridge {unseen[0]}")
        enabled = sorted(bridge for bridge in bridges if found[bridge])
        findings.fact(ITEM, "bridges_with_acs", len(enabled), "count")
        findings.evidence(f"bridges above GPUs and cards: {len(bridges)}; ACS on: {', '.join(enabled) or 'none'}", ITEM)
    return findings.result()


def _cards(source: Source) -> Set[str]:
    found: Set[str] = set()
    for path in source.glob(CARDS):
        found.update(_ADDRESS.findall(source.read(path)))
    return found


def _above(source: Source, address: str) -> Set[str]:
    """The bridges on the way from a device to its root, which the kernel writes into the device's own path."""
    way = _ADDRESS.findall(source.readlink(f"{PCI_DEVICES}/{address}"))
    return set(way[:-1])


def _listing(source: Source) -> str:
    result = source.run(ARGV)
    if result.exit_code != 0:
        raise CouldNotMeasure(ERROR, f"lspci ended with {result.exit_code}: {result.stderr.strip()[:120]}")
    if _HIDDEN in result.stdout:
        raise CouldNotMeasure(DENIED, "lspci shows capabilities of bridges to root only")
    return result.stdout


ACS = Probe("acs", (ITEM,), "daily", measure)
