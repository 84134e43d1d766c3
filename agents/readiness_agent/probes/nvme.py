"""The health of the node's NVMe disks, as they tell it themselves."""

from __future__ import annotations

import re
from typing import List

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.parsers.nvme import NvmeHealth, parse_smart_log, parse_smartctl
from readiness_agent.source import Probe, ProbeContext, Source

ITEM = "nvme-health"
CONTROLLERS = "/sys/class/nvme"
DISK_DEADLINE = 2.0


def measure(source: Source, _: ProbeContext) -> ProbeResult:
    """Numbers over the disks that answer; one that does not is a problem beside them."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM, subject=""):
        disks = _disks(source)
        findings.fact(ITEM, "disks", len(disks), "count")
        answers: List[NvmeHealth] = []
        refused: List[CouldNotMeasure] = []
        for disk in disks:
            try:
                answers.append(_health(source, disk))
            except CouldNotMeasure as error:
                refused.append(error)
        if answers:
            _report(findings, answers)
        if refused:
            raise refused[0]
    return findings.result()


def _report(findings: Findings, answers: List[NvmeHealth]) -> None:
    findings.fact(ITEM, "critical_warnings", sum(1 for one in answers if one.critical_warning), "count")
    findings.fact(ITEM, "spare_left_min", min(one.spare - one.spare_threshold for one in answers), "percent")
    findings.fact(ITEM, "wear_max", max(one.used for one in answers), "percent")


def _disks(source: Source) -> List[str]:
    disks = [name for name in source.listdir(CONTROLLERS) if re.fullmatch(r"nvme[0-9]+", name)]
    if not disks:
        raise CouldNotMeasure(MISSING, f"{CONTROLLERS} shows no NVMe disk")
    return disks


def _health(source: Source, disk: str) -> NvmeHealth:
    try:
        result = source.run(("nvme", "smart-log", "-o", "json", f"/dev/{disk}"), DISK_DEADLINE)
    except CouldNotMeasure as error:
        if error.kind != MISSING:
            raise
        return parse_smartctl(source.run(("smartctl", "-j", "-a", f"/dev/{disk}"), DISK_DEADLINE).stdout)
    if result.exit_code != 0:
        raise CouldNotMeasure(
            ERROR, f"nvme smart-log {disk} ended with {result.exit_code}: {result.stderr.strip()[:120]}"
        )
    return parse_smart_log(result.stdout)


NVME = Probe("nvme", (ITEM,), "daily", measure)
