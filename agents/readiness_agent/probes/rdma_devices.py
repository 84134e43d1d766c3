"""RDMA devices of the node: which of them take part in training, and in which order."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple

from readiness_agent.facts import MISSING, CouldNotMeasure
from readiness_agent.source import Source

ROOT = "/sys/class/infiniband"
PORT_STATES = f"{ROOT}/*/ports/*/state"


class RdmaPort(NamedTuple):
    """One port of one device."""

    device: str
    port: str
    model: str
    """The vendor's type, ``MT4129``; empty where the kernel does not tell it."""
    link_layer: str
    pci_address: str

    @property
    def directory(self) -> str:
        """Where the kernel keeps the port's files."""
        return f"{ROOT}/{self.device}/ports/{self.port}"

    @property
    def key(self) -> str:
        """Its name among all ports of the node."""
        return self.device if self.port == "1" else f"{self.device}/{self.port}"


def training_ports(source: Source) -> Dict[str, RdmaPort]:
    """Ports by subject: ``nic0``, ``nic1`` … in the order of their PCI addresses.

    Cards for training are those of the model and link layer that the node has most of; a bond, a storage card or a
    card for management beside them takes no part.

    Raises:
        CouldNotMeasure: there is no RDMA device.
    """
    ports = [_port(source, path) for path in source.glob(PORT_STATES)]
    cards = [one for one in ports if "bond" not in one.device]
    if not cards:
        raise CouldNotMeasure(MISSING, f"{ROOT} shows no RDMA device")
    kinds = [(one.model, one.link_layer) for one in cards]
    most = max(kinds.count(kind) for kind in kinds)
    chosen = [one for one in cards if kinds.count((one.model, one.link_layer)) == most]
    chosen.sort(key=lambda one: (one.pci_address, _natural(one.device), one.port))
    return {f"nic{place}": one for place, one in enumerate(chosen)}


def interface_of(source: Source, port: RdmaPort) -> str:
    """The network interface of a port's device.

    Raises:
        CouldNotMeasure: it has none.
    """
    names = source.listdir(f"{ROOT}/{port.device}/device/net")
    if not names:
        raise CouldNotMeasure(MISSING, f"{port.device} has no network interface")
    return names[0]


def _port(source: Source, path: str) -> RdmaPort:
    parts = path.split("/")
    device, port = parts[-4], parts[-2]
    return RdmaPort(
        device,
        port,
        _text(source, f"{ROOT}/{device}/hca_type"),
        _text(source, f"{ROOT}/{device}/ports/{port}/link_layer"),
        _pci_address(_text(source, f"{ROOT}/{device}/device/uevent")),
    )


def _pci_address(uevent: str) -> str:
    lines: List[str] = [line for line in uevent.splitlines() if line.startswith("PCI_SLOT_NAME=")]
    return lines[0].partition("=")[2] if lines else ""


def _text(source: Source, path: str) -> str:
    try:
        return source.read(path).strip()
    except CouldNotMeasure:
        return ""


def _natural(name: str) -> Tuple[int, str]:
    """``mlx5_10`` after ``mlx5_9``."""
    digits = "".join(letter for letter in name.rpartition("_")[2] if letter.isdigit())
    return (int(digits) if digits else 0, name)
