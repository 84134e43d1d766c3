"""The air around the node and the alarms of its fans and power supplies, as its baseboard controller tells them."""

from __future__ import annotations

import os
from typing import Any, Optional

from readiness_agent.command import run_command
from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.source import Json, Probe, ProbeContext, Source

ITEM = "room-environment"
SENSORS = "sensors of the BMC"
CACHE = "sdr.cache"
DUMP_DEADLINE, READ_DEADLINE = 6.0, 6.0
DEVICES = ("/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0")


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """The warmest inlet, and how many of the watched sensors complain."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM, subject=""):
        text = _text(source.call(SENSORS, lambda: _ask(context.memory_dir)))
        from readiness_agent.parsers.ipmi import parse_sensors  # most nodes of a cloud have no BMC to ask

        sensors = parse_sensors(text)
        alarming = [one for one in sensors if one.alarms]
        findings.fact(ITEM, "alarms", len(alarming), "count")
        inlets = [one for one in sensors if one.is_inlet]
        shown = [f"{one.name} | {one.state} | {one.reading}" for one in (*inlets, *alarming)]
        findings.evidence("\n".join(shown), ITEM)
        degrees = [one.degrees for one in inlets if one.degrees is not None]
        if not degrees:
            raise CouldNotMeasure(MISSING, "no sensor of the BMC measures the air that comes in")
        findings.fact(ITEM, "inlet", max(degrees), "celsius")
    return findings.result()


def _text(answer: Any) -> str:
    if not isinstance(answer, str):
        raise Unreadable("the sensors of the BMC were not saved as text")
    return answer


def _ask(directory: Optional[str]) -> Json:
    """The list of sensors. Their descriptions are kept from an earlier look: reading them anew takes many seconds."""
    if not any(map(os.path.exists, DEVICES)):
        raise CouldNotMeasure(MISSING, "the kernel shows no BMC (/dev/ipmi0): is the module ipmi_si loaded?")
    known = _known_descriptions(directory)
    argv = ["ipmitool", *(["-S", known] if known else []), "sdr", "elist", "all"]
    result = run_command(argv, READ_DEADLINE)
    if result.exit_code != 0 and not result.stdout:
        raise CouldNotMeasure(ERROR, f"ipmitool ended with {result.exit_code}: {result.stderr.strip()[:160]}")
    return result.stdout


def _known_descriptions(directory: Optional[str]) -> Optional[str]:
    """A file with the descriptions of this boot, made where there is none; None where none can be kept."""
    if directory is None:
        return None
    path = os.path.join(directory, CACHE)
    if _is_of_this_boot(path):
        return path
    temporary = f"{path}.{os.getpid()}"
    if run_command(("ipmitool", "sdr", "dump", temporary), DUMP_DEADLINE).exit_code != 0:
        return None
    os.replace(temporary, path)
    return path


def _is_of_this_boot(path: str) -> bool:
    """A part that was swapped shows after the boot that its swap took."""
    try:
        age = os.stat(path).st_mtime
    except OSError:
        return False
    with open("/proc/stat", encoding="ascii") as file:
        booted = next((int(line.split()[1]) for line in file if line.startswith("btime ")), 0)
    return age >= booted


ROOM = Probe("room", (ITEM,), "tick", measure, deadline=14.0)
