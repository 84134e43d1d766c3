"""Kernel settings: their live values, and the file that sets each of them at the next boot."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from readiness_agent.facts import MISSING, NOT_CAPTURED, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.parsers.softnet import parse_softnet_dropped
from readiness_agent.parsers.swaps import parse_swap_count
from readiness_agent.parsers.sysctl import (
    DIRECTORIES,
    SYSCTL_CONF,
    ConfFile,
    Setting,
    effective_setting,
    in_boot_order,
    parse_sysctl_dump,
    parse_sysctl_file,
    parse_sysctl_value,
)
from readiness_agent.source import Probe, ProbeContext, Source


class Key(NamedTuple):
    """One setting and the item it belongs to."""

    name: str
    item: str
    unit: str

    @property
    def path(self) -> str:
        return "/proc/sys/" + self.name.replace(".", "/")


KEYS = (
    Key("vm.swappiness", "sysctl-swappiness", "count"),
    Key("net.core.somaxconn", "sysctl-somaxconn", "count"),
    Key("net.ipv4.tcp_max_syn_backlog", "sysctl-syn-backlog", "count"),
    Key("net.core.netdev_max_backlog", "sysctl-netdev-backlog", "packets"),
    Key("fs.file-max", "sysctl-file-max", "count"),
)
ITEMS = tuple(key.item for key in KEYS)


def measure(source: Source, _: ProbeContext) -> ProbeResult:
    """All settings; each live value that cannot be read is a problem of its own item."""
    findings = Findings(source.now_boottime())
    files, unreadable = _configuration(source)
    shown = []
    for key in KEYS:
        setting = effective_setting(files, key.name) if files is not None else None
        if files is not None:
            _configured(findings, key, setting)
        with findings.attempt(key.item, subject=""):
            live = _live(source, key)
            findings.fact(key.item, "live", live, key.unit)
            shown.append(f"{key.name} = {live} ({_next_boot(setting, unreadable)})")
    _swap_devices(findings, source)
    _dropped_packets(findings, source)
    findings.evidence("\n".join(shown), *ITEMS)
    return findings.result()


def _live(source: Source, key: Key) -> int:
    """From its file; from the output of sysctl where a capture holds only that."""
    try:
        return parse_sysctl_file(source.read(key.path))
    except CouldNotMeasure as error:
        if error.kind != NOT_CAPTURED:
            raise
    settings = parse_sysctl_dump(source.run(("sysctl", "-a")).stdout)
    if key.name not in settings:
        raise Unreadable(f"sysctl -a does not show {key.name}")
    return parse_sysctl_value(settings[key.name])


def _configuration(source: Source) -> Tuple[Optional[List[ConfFile]], str]:
    """All files that count at boot in their order; None and the reason when one of them cannot be read."""
    try:
        paths = [f"{directory}/{name}" for directory in DIRECTORIES for name in _names(source, directory)]
        if source.exists(SYSCTL_CONF):
            paths.append(SYSCTL_CONF)
        return [ConfFile(path, source.read(path)) for path in in_boot_order(paths)], ""
    except CouldNotMeasure as error:
        return None, error.detail


def _names(source: Source, directory: str) -> List[str]:
    try:
        return source.listdir(directory)
    except CouldNotMeasure as error:
        if error.kind == MISSING:
            return []
        raise


def _configured(findings: Findings, key: Key, setting: Optional[Setting]) -> None:
    """What the files say. Nothing is said when one could not be read: it may set the key."""
    findings.fact(key.item, "configured_state", "unset" if setting is None else "set", "text")
    if setting is None:
        return
    findings.fact(key.item, "configured_by", f"{setting.path}:{setting.line}", "text")
    try:
        findings.fact(key.item, "configured", parse_sysctl_value(setting.value), key.unit)
    except Unreadable as error:
        findings.problem(key.item, error.kind, f"{setting.path}:{setting.line}: {error.detail}", subject="")


def _next_boot(setting: Optional[Setting], unreadable: str) -> str:
    if unreadable:
        return f"next boot: unknown, {unreadable}"
    return f"next boot: {setting.value}, {setting.path}:{setting.line}" if setting else "no file sets it"


def _swap_devices(findings: Findings, source: Source) -> None:
    """Left out when it cannot be read: a number that was not measured exempts nobody."""
    with findings.attempt("sysctl-swappiness", subject=""):
        findings.fact("sysctl-swappiness", "swap_devices", parse_swap_count(source.read("/proc/swaps")), "count")


def _dropped_packets(findings: Findings, source: Source) -> None:
    with findings.attempt("sysctl-netdev-backlog", subject=""):
        dropped = parse_softnet_dropped(source.read("/proc/net/softnet_stat"))
        findings.fact("sysctl-netdev-backlog", "softnet_dropped", dropped, "packets")


KERNEL = Probe("kernel", ITEMS, "tick", measure)
