"""The lossless class of RoCE cards: what each card is set to, and whether NCCL's traffic falls into it."""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple, Optional

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.parsers.roce import Qos, parse_mlnx_qos
from readiness_agent.probes.rdma_devices import RdmaPort, interface_of, training_ports
from readiness_agent.source import Probe, ProbeContext, Source

ITEM = "net-switch-qos"
INFINIBAND = "InfiniBand"
NCCL_CONF = "/etc/nccl.conf"
DEADLINE = 3.0

_SETTING = re.compile(r"^\s*(NCCL_IB_(?:TC|GID_INDEX))\s*=\s*([0-9]{1,3})\s*$", re.MULTILINE)
_DSCP_SHIFT = 2
"""The upper six bits of a traffic class are its DSCP."""


class Nccl(NamedTuple):
    """What the node's configuration tells NCCL."""

    traffic_class: Optional[int]
    gid_index: Optional[int]


def measure(source: Source, _: ProbeContext) -> ProbeResult:
    """One text a card that says all of its settings: cards that agree have the same one."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM):
        ports = training_ports(source)
        for name, port in ports.items():
            findings.fact(ITEM, "link_layer", port.link_layer, "text", name)
        roce = {name: port for name, port in ports.items() if port.link_layer != INFINIBAND}
        if roce:
            _settings(findings, source, roce)
    return findings.result()


def _settings(findings: Findings, source: Source, roce: Mapping[str, RdmaPort]) -> None:
    nccl = nccl_of(_conf(source))
    settings: Dict[str, Qos] = {}
    for name, port in roce.items():
        with findings.attempt(ITEM, subject=name):
            settings[name] = _of(source, interface_of(source, port))
            findings.fact(ITEM, "qos", settings[name].said, "text", name)
            if nccl.gid_index is not None:
                findings.fact(ITEM, "gid_type", _gid_type(source, port, nccl.gid_index), "text", name)
    if nccl.traffic_class is None:
        raise CouldNotMeasure(MISSING, f"{NCCL_CONF} sets no NCCL_IB_TC, so nothing tells the class of NCCL's traffic")
    for name, found in settings.items():
        mapped = found.is_lossless(nccl.traffic_class >> _DSCP_SHIFT)
        findings.fact(ITEM, "traffic_class_mapped", mapped, "bool", name)
    findings.evidence("\n".join(f"{name} {found.said}" for name, found in settings.items()), ITEM)


def nccl_of(text: str) -> Nccl:
    """The settings in ``nccl.conf``; the last line of a name counts."""
    found = {name: int(number) for name, number in _SETTING.findall(text)}
    return Nccl(found.get("NCCL_IB_TC"), found.get("NCCL_IB_GID_INDEX"))


def _conf(source: Source) -> str:
    try:
        return source.read(NCCL_CONF)
    except CouldNotMeasure as error:
        if error.kind != MISSING:
            raise
        return ""


def _of(source: Source, interface: str) -> Qos:
    result = source.run(("mlnx_qos", "-i", interface), DEADLINE)
    if result.exit_code != 0:
        raise CouldNotMeasure(ERROR, f"mlnx_qos -i {interface} ended with {result.exit_code}")
    return parse_mlnx_qos(result.stdout)


def _gid_type(source: Source, port: RdmaPort, index: int) -> str:
    """``RoCE v2`` or another kind, of the address that NCCL is told to use; the kernel writes it as show_gids does."""
    words: List[str] = source.read(f"{port.directory}/gid_attrs/types/{index}").split()
    if not words:
        raise Unreadable(f"{port.key} has no address {index}")
    return " ".join(words)


QOS = Probe("qos", (ITEM,), "daily", measure)
