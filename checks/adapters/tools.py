"""The tools whose output is taken as evidence, by the name that stands in the address."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checks.adapters.dcgmi import read_dcgmi
from checks.adapters.fio import read_fio_report
from checks.adapters.gpud import read_gpud_states
from checks.adapters.health_validation import read_verdict
from checks.adapters.nccl_tests import read_nccl
from checks.adapters.nhc import read_nhc_log
from checks.adapters.perftest import read_perftest_run
from checks.adapters.reading import MOST_FACTS, NodeOnFile, Reading, UnreadableOutput, WrongTool
from checks.adapters.superbench import read_summary

TOOLS: Mapping[str, Callable[[str, NodeOnFile], Reading]] = {
    "dcgmi-diag": read_dcgmi,
    "fio": read_fio_report,
    "gpud": read_gpud_states,
    "nccl-tests": read_nccl,
    "nhc": read_nhc_log,
    "nvidia-health-validation": read_verdict,
    "perftest": read_perftest_run,
    "superbench": read_summary,
}

MOST_LINES = 100_000
"""Far above any run; a body of nothing but line ends would keep a reader busy for seconds."""
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def read_output(tool: str, text: str, node: NodeOnFile) -> Reading:
    """What *text*, an output of *tool*, says of *node*.

    Raises:
        WrongTool, UnreadableOutput, OtherHost: nothing of it can be taken; the sentence says what to do.
    """
    if not text.strip():
        raise WrongTool("The file is empty; send what the tool printed.")
    if sum(map(text.count, _LINE_ENDS)) > MOST_LINES:
        raise UnreadableOutput(f"The file has more than {MOST_LINES:,} lines; send the output of one run.")
    reading = TOOLS[tool](text, node)
    if not (reading.facts or reading.problems or reading.remarks):
        raise WrongTool(f"Nothing in this text is an output of {tool}; name the tool that wrote it.")
    if len(reading.facts) + len(reading.problems) > MOST_FACTS:
        raise UnreadableOutput(f"The file states more than {MOST_FACTS} values; send the output of one run.")
    return reading
