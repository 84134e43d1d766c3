"""Settings that a cluster made items of its own: the portal names them, and this reads nothing but settings.

A kernel setting is one file below ``/proc/sys``, read with each tick; whatever else a fingerprint holds is read once a
day.
"""

from __future__ import annotations

import re
from typing import Dict, Optional, Sequence, Tuple

from readiness_agent.facts import DENIED, MISSING, NOT_CAPTURED, UNREADABLE, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.source import Probe, ProbeContext, Source

SYSCTL = "sysctl:"
FACT = "value"

_NAME = re.compile(r"[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_/-]+)+")


def setting_probes(named: Sequence[Tuple[str, str]]) -> Tuple[Probe, ...]:
    """Probes of the items in *named*, each with the name of its setting."""
    kernel = {item: name for item, name in named if name.startswith(SYSCTL)}
    others = {item: name for item, name in named if item not in kernel}
    probes = (_probe("settings", "tick", kernel), _probe("settings-daily", "daily", others))
    return tuple(probe for probe in probes if probe.items)


def is_kernel_setting(name: str) -> bool:
    """Whether *name* is one that sysctl could have printed: it leads nowhere else."""
    return _NAME.fullmatch(name) is not None and ".." not in name and "//" not in name


def _probe(name: str, cadence: str, settings: Dict[str, str]) -> Probe:
    def run(source: Source, _: ProbeContext) -> ProbeResult:
        findings = Findings(source.now_boottime())
        for item, setting in settings.items():
            with findings.attempt(item, subject=""):
                findings.fact(item, FACT, _value(source, setting), "text")
        return findings.result()

    return Probe(name, tuple(settings), cadence, run)


def _value(source: Source, setting: str) -> str:
    # Here, because most nodes are asked for no setting at all.
    from readiness_agent.fingerprint import clean, read_fingerprint
    from readiness_agent.fingerprint.leaving import is_left_out, is_secret

    if is_left_out(setting) or is_secret(setting):
        raise CouldNotMeasure(DENIED, f"{setting} is never read: it moves by itself, or is secret")
    kind, _, name = setting.partition(":")
    value = _live(source, name) if kind == "sysctl" else None
    if value is not None:
        return clean(setting, value) or ""
    found = read_fingerprint(source, (kind,))
    if kind not in found.kinds:
        raise CouldNotMeasure(NOT_CAPTURED, f"settings of the kind {kind} cannot be read here")
    if setting not in found.settings:
        raise CouldNotMeasure(MISSING, f"{setting} is not there")
    told = found.settings[setting]
    if told is None:
        raise CouldNotMeasure(UNREADABLE, f"{setting} is there and cannot be read")
    return told


def _live(source: Source, name: str) -> Optional[str]:
    """From its own file; None where a capture holds all settings together."""
    from readiness_agent.fingerprint.kernel import sysctl_path

    if not is_kernel_setting(name):
        raise CouldNotMeasure(DENIED, f"{name[:80]!r} is no name of a kernel setting")
    try:
        return source.read(sysctl_path(name))
    except CouldNotMeasure as error:
        if error.kind != NOT_CAPTURED:
            raise
        return None
