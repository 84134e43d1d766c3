"""Where the GPU probe gets its records from: NVML, else ``nvidia-smi`` (``-q -x`` and ``nvlink``), or ``amd-smi``."""

from __future__ import annotations

import json
import os
import sys
from typing import List, NamedTuple, Optional, Tuple

import readiness_agent
from readiness_agent.command import run_command
from readiness_agent.facts import ERROR, HUNG, MISSING, NOT_CAPTURED, CouldNotMeasure
from readiness_agent.parsers.nvidia_smi_xml import SmiLog, parse_smi_xml
from readiness_agent.parsers.nvlink import NvlinkErrors, NvlinkGpu, parse_nvlink_errors, parse_nvlink_status
from readiness_agent.parsers.nvml import NvmlLog, parse_nvml
from readiness_agent.probes.gpu_evidence import nvml_evidence, smi_evidence
from readiness_agent.probes.subjects import accelerators_on_bus, gpus_on_bus
from readiness_agent.source import COMMAND_DEADLINE, CommandResult, Json, Source

NVML = "nvml"
DRIVER_VERSION = "/proc/driver/nvidia/version"
"""There as long as the kernel module of the driver is loaded."""
ARGV = ("nvidia-smi", "-q", "-x")
PLAIN_ARGV = ("nvidia-smi", "-q")
LINKS_ARGV = ("nvidia-smi", "nvlink", "-s")
LINK_ERRORS_ARGV = ("nvidia-smi", "nvlink", "-e")

LINKS_DEADLINE = 2.0
"""Seconds for each of the two short commands: with the report's own 8 they stay below the probe's deadline."""


PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from readiness_agent.nvml.ask import main; main()"
"""What the small interpreter runs; its one argument is where the agent lies."""
AGENT = os.path.dirname(os.path.dirname(readiness_agent.__file__))
"""Where the agent's own package lies: a directory, or the one file that it is packed into."""


class GpuReport(NamedTuple):
    """One report, whoever gave it."""

    log: SmiLog
    evidence: str
    nvml: Optional[NvmlLog]
    """None when the tool was asked."""
    result: Optional[CommandResult]
    """What the tool printed; None when NVML or AMD's tool was asked."""
    amd: bool = False

    def on_bus(self, source: Source) -> List[str]:
        """PCI addresses of the GPUs of this maker that the kernel sees."""
        return accelerators_on_bus(source) if self.amd else gpus_on_bus(source)

    def links(self, source: Source) -> Tuple[NvlinkGpu, ...]:
        """The NVLinks of every GPU."""
        self._require_nvlink()
        if self.nvml is not None:
            return self.nvml.links
        return parse_nvlink_status(source.run(LINKS_ARGV, LINKS_DEADLINE).stdout)

    def link_errors(self, source: Source) -> Tuple[NvlinkErrors, ...]:
        """The error counters of the NVLinks of every GPU."""
        self._require_nvlink()
        if self.nvml is not None:
            return self.nvml.link_errors
        return parse_nvlink_errors(source.run(LINK_ERRORS_ARGV, LINKS_DEADLINE).stdout)

    def _require_nvlink(self) -> None:
        if self.amd:
            raise CouldNotMeasure(MISSING, "these GPUs are AMD's, and have no NVLink")


def ask_for_report(source: Source) -> GpuReport:
    """The report of NVML; of nvidia-smi where there is no NVML, since it says in words what is wrong with the driver;
    in plain text where a capture holds only that; of amd-smi where the GPUs are AMD's."""
    try:
        raw = source.call(NVML, ask_nvml)
        log = parse_nvml(raw)
        return GpuReport(log.smi, nvml_evidence(raw), log, None)
    except CouldNotMeasure as error:
        if error.kind == HUNG:  # nvidia-smi would hang in the same driver
            raise
    try:
        result, smi = _of_tool(source)
    except CouldNotMeasure as error:
        if error.kind != MISSING or not accelerators_on_bus(source):
            raise
        from readiness_agent.probes.amd import ask_amd_smi  # never needed on a node with NVIDIA's GPUs

        told = ask_amd_smi(source)
        return GpuReport(told.log, told.evidence, None, None, amd=True)
    return GpuReport(smi, smi_evidence(result), None, result)


def ask_nvml() -> Json:
    """NVML's answers about this machine, for ``Source.call``.

    Raises:
        CouldNotMeasure: there is no library or no driver; or, as *hung*, it does not answer.
    """
    if not os.path.exists(DRIVER_VERSION):  # an interpreter is not worth starting where no driver would answer it
        raise CouldNotMeasure(MISSING, "no NVIDIA driver is loaded")
    result = run_command([sys.executable, "-I", "-S", "-c", PROGRAM, AGENT], COMMAND_DEADLINE)
    try:
        said = json.loads(result.stdout)
    except ValueError:
        raise CouldNotMeasure(ERROR, f"asking NVML ended with {result.exit_code}: {result.stderr[-200:]}") from None
    if "problem" in said:
        raise CouldNotMeasure(*said["problem"])
    answers: Json = said["answers"]
    return answers


def _of_tool(source: Source) -> Tuple[CommandResult, SmiLog]:
    try:
        result = source.run(ARGV)
        return result, parse_smi_xml(result.stdout)
    except CouldNotMeasure as error:
        if error.kind != NOT_CAPTURED:
            raise
    from readiness_agent.parsers.nvidia_smi_text import parse_smi_text  # never needed on a live node

    result = source.run(PLAIN_ARGV)
    return result, parse_smi_text(result.stdout)
