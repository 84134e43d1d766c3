"""Serial numbers of the machine and its GPUs: what tells one body from another under the same hostname.

A slot that cannot be read is left out: fewer serials are no change of identity, another one is.
"""

from __future__ import annotations

from typing import Dict, List, Tuple

from readiness_agent.facts import CouldNotMeasure, Findings, ProbeResult
from readiness_agent.source import Probe, ProbeContext, Source

SYSTEM_SERIALS = ("/sys/class/dmi/id/product_serial", "/sys/class/dmi/id/product_uuid")
GPU_INFORMATION = "/proc/driver/nvidia/gpus/*/information"
PLACEHOLDERS = (
    "",
    "none",
    "n/a",
    "not specified",
    "to be filled by o.e.m.",
    "default string",
    "system serial number",
    "0",
)

SERIAL = "serial"


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """Facts named ``serial`` with the slot as subject; they enter ``node.serials``, not the report's facts."""
    findings = Findings(source.now_boottime())
    for slot, serial in {**_system(source), **_gpus(source)}.items():
        findings.fact("", SERIAL, serial[:128], "text", subject=slot)
    return findings.result()


IDENTITY = Probe("identity", (), "run", measure, deadline=6.0)
"""Runs beside the probes of every report, in a process of its own like any other."""


def _system(source: Source) -> Dict[str, str]:
    for path in SYSTEM_SERIALS:
        try:
            serial = source.read(path).strip()
        except CouldNotMeasure:
            continue  # readable by root only, or a machine without DMI
        if serial.lower() not in PLACEHOLDERS:
            return {"system": serial}
    return {}


def _gpus(source: Source) -> Dict[str, str]:
    """GPU UUIDs by slot, ordered by PCI bus id."""
    try:
        paths = source.glob(GPU_INFORMATION)
        found = sorted(_gpu(source.read(path)) for path in paths)
    except CouldNotMeasure:
        return _gpus_from_tool(source)
    return {f"gpu{position}": uuid for position, (_, uuid) in enumerate(found) if uuid}


def _gpu(information: str) -> Tuple[str, str]:
    """Bus location and UUID from one ``information`` file of the NVIDIA driver."""
    values = {}
    for line in information.splitlines():
        name, _, value = line.partition(":")
        values[name.strip()] = value.strip()
    uuid = values.get("GPU UUID", "")
    return values.get("Bus Location", ""), uuid if "?" not in uuid else ""


def _gpus_from_tool(source: Source) -> Dict[str, str]:
    """The same from ``nvidia-smi -L``, which lists in the order of the bus."""
    try:
        listing = source.run(["nvidia-smi", "-L"], deadline=4.0).stdout
    except CouldNotMeasure:
        return {}
    uuids: List[str] = [line.partition("UUID: ")[2].rstrip(") \n") for line in listing.splitlines() if "UUID: " in line]
    return {f"gpu{position}": uuid for position, uuid in enumerate(uuids)}
