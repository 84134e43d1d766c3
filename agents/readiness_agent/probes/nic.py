"""Drops and queues of the network cards that carry RDMA.

The counters of the kernel's own network stack do not see RDMA, so each kind of card is asked for counters that do.
"""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Optional, Tuple

from readiness_agent.facts import ERROR, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.parsers.ethtool import parse_channels, parse_rings, parse_statistics
from readiness_agent.parsers.infiniband import parse_counter
from readiness_agent.probes.memory_file import load_memory, save_memory
from readiness_agent.probes.rdma_devices import RdmaPort, interface_of, training_ports
from readiness_agent.source import Json, Probe, ProbeContext, Source

DROPS = "nic-drop-rate"
QUEUES = "nic-queue-depth"
INFINIBAND = "InfiniBand"

BEFORE = "drop counters"
MEMORY_FILE = "drop-counters.json"

WIRE = ("rx_packets_phy", "rx_discards_phy")
TRANSPORT = ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err")
"""What a RoCE card counts when packets of its transport were lost on the way."""

Counts = Tuple[int, int]
"""Packets received and packets lost, since the card was started."""


class Drops(NamedTuple):
    """The counters of one port."""

    counts: Counts
    counters: str
    """Which ones, in words."""


def measure_drops(findings: Findings, source: Source, context: ProbeContext, ports: Mapping[str, RdmaPort]) -> None:
    """Totals of every port, and the share of drops since an earlier tick, where there was one in this boot."""
    found: Dict[str, Drops] = {}
    for name, port in ports.items():
        with findings.attempt(DROPS, subject=name):
            found[name] = _of_infiniband(source, port) if port.link_layer == INFINIBAND else _of_roce(source, port)
    before = _before(source, context, {ports[name].key: drops.counts for name, drops in found.items()})
    for name, drops in found.items():
        findings.fact(DROPS, "packets", drops.counts[0], "packets", name)
        findings.fact(DROPS, "discarded", drops.counts[1], "packets", name)
        findings.fact(DROPS, "counters", drops.counters, "text", name)
        earlier = before.get(ports[name].key)
        if earlier is not None:
            findings.fact(DROPS, "drop_share", share_of_drops(earlier, drops.counts), "percent", name)


def _of_infiniband(source: Source, port: RdmaPort) -> Drops:
    files = ("port_rcv_packets", "port_rcv_errors", "port_xmit_discards")
    packets, errors, discards = (parse_counter(source.read(f"{port.directory}/counters/{file}")) for file in files)
    return Drops((packets, errors + discards), "port_rcv_errors + port_xmit_discards of port_rcv_packets")


def _of_roce(source: Source, port: RdmaPort) -> Drops:
    interface = interface_of(source, port)
    statistics = parse_statistics(_ethtool(source, "-S", interface))
    if not all(name in statistics for name in WIRE):
        raise Unreadable(f"{interface} has no counters that see RDMA ({' and '.join(WIRE)})")
    lost = [parse_counter(source.read(f"{port.directory}/hw_counters/{file}")) for file in TRANSPORT]
    packets, discards = (statistics[name] for name in WIRE)
    return Drops((packets, discards + sum(lost)), f"{WIRE[1]} + {' + '.join(TRANSPORT)} of {WIRE[0]}")


def share_of_drops(before: Counts, now: Counts) -> float:
    """Per cent of the packets between two looks that were lost; a counter that went back was reset."""
    packets, lost = (after - earlier if after >= earlier else after for earlier, after in zip(before, now))  # noqa: B905
    if packets == 0:
        return 100.0 if lost else 0.0
    return 100 * lost / packets


def _before(source: Source, context: ProbeContext, now: Dict[str, Counts]) -> Dict[str, Counts]:
    """The counts of the previous look of this boot, in whose place *now* is kept."""
    try:
        answer = source.call(BEFORE, lambda: _exchange(context.memory_dir, _boot_id(source), now))
    except CouldNotMeasure:
        return {}
    pairs = {key: _pair(value) for key, value in answer.items()} if isinstance(answer, dict) else {}
    return {key: pair for key, pair in pairs.items() if pair is not None}


def _pair(value: Json) -> Optional[Counts]:
    numbers = [one for one in value if isinstance(one, int) and one >= 0] if isinstance(value, list) else []
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _boot_id(source: Source) -> str:
    return source.read("/proc/sys/kernel/random/boot_id").strip()


def _exchange(directory: Optional[str], boot_id: str, now: Dict[str, Counts]) -> Json:
    before = load_memory(directory, MEMORY_FILE, boot_id)
    save_memory(directory, MEMORY_FILE, boot_id, {key: [*counts] for key, counts in now.items()})
    return before


def measure_queues(source: Source, _: ProbeContext) -> ProbeResult:
    """Rings and channels as they are set. InfiniBand has none of them in its data path: its link layer says so."""
    findings = Findings(source.now_boottime())
    with findings.attempt(QUEUES):
        for name, port in training_ports(source).items():
            findings.fact(QUEUES, "link_layer", port.link_layer, "text", name)
            if port.model:
                findings.fact(QUEUES, "model", port.model, "text", name)
            if port.link_layer != INFINIBAND:
                with findings.attempt(QUEUES, subject=name):
                    _queues(findings, source, interface_of(source, port), name)
    return findings.result()


def _queues(findings: Findings, source: Source, interface: str, name: str) -> None:
    rings = parse_rings(_ethtool(source, "-g", interface))
    findings.fact(QUEUES, "rx_ring", rings.rx, "count", name)
    findings.fact(QUEUES, "tx_ring", rings.tx, "count", name)
    channels = parse_channels(_ethtool(source, "-l", interface))
    findings.fact(QUEUES, "channels", channels.current, "count", name)


def _ethtool(source: Source, option: str, interface: str) -> str:
    result = source.run(("ethtool", option, interface), 3.0)
    if result.exit_code != 0:
        raise CouldNotMeasure(ERROR, f"ethtool {option} {interface} ended with {result.exit_code}")
    return result.stdout


NIC_QUEUES = Probe("nic-queues", (QUEUES,), "daily", measure_queues)
