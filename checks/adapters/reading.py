"""What an adapter is told of the node, and what it makes of a file: facts, problems, and what maps to no item.

A tool's *pass* is no fact. What it measured is; what it says that nobody can hold against a criterion is named in the
answer and judged by nobody. A tool's failure without a figure leaves its item *unknown*, which blocks as a fail does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from checks.domain.errors import CountersignError
from checks.domain.facts import WHOLE_NODE, ProblemKind
from checks.domain.units import Scalar

#: The most remarks that an answer carries; the number of the others is told.
MOST_REMARKS = 200
#: The most facts of one file: those of the largest node that the profiles know, many times over.
MOST_FACTS = 2_000


class WrongTool(CountersignError):
    """The text is no output of the tool that was named."""

    code = "wrong_tool"


class UnreadableOutput(CountersignError):
    """It may be an output of that tool, but it was cut or damaged, so nothing of it is believed."""

    code = "unreadable_output"


class OtherHost(CountersignError):
    """The output names another host than the node that it was sent for."""

    code = "other_host"


@dataclass(frozen=True, slots=True)
class NodeOnFile:
    """The node as the portal knows it: how many GPUs it has, and its parts by the names that tools use for them.

    *uuids* maps the UUID of a GPU to its subject; *devices* an RDMA device to its subject (``mlx5_0`` -> ``nic0``).
    """

    hostname: str
    gpus: int
    uuids: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)

    def gpu(self, index: int | None) -> str | None:
        """The subject of the GPU that a tool calls *index*, in the order of the bus; None where there is no such."""
        return f"gpu{index}" if index is not None and 0 <= index < self.gpus else None

    def is_called(self, host: str) -> bool:
        """Whether *host* is a name of this node: its own, with or without a domain, or none at all."""
        ours, theirs = self.hostname.lower(), host.strip().lower()
        short = {ours.partition(".")[0], theirs.partition(".")[0]}
        return theirs in ("", "localhost", ours) or (len(short) == 1 and "." not in (ours if "." in theirs else theirs))


@dataclass(frozen=True, slots=True)
class ToolFact:
    """One value under the catalogue's names, in its unit."""

    item: str
    subject: str
    name: str
    value: Scalar
    unit: str


@dataclass(frozen=True, slots=True)
class ToolProblem:
    """Why an item stays open. ``ERROR``: the tool itself says that something is wrong; else it shows too little."""

    item: str
    subject: str
    kind: ProblemKind
    detail: str


@dataclass(frozen=True, slots=True)
class Remark:
    """What the file says beyond the items: *name* and *value* in the tool's words, *why* it is not judged."""

    name: str
    value: str
    why: str


@dataclass(slots=True)
class Reading:
    """Collects what one file says. *stated_at* is when the tool ran, where the file tells."""

    stated_at: datetime | None = None
    facts: list[ToolFact] = field(default_factory=list)
    problems: list[ToolProblem] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    def fact(self, item: str, name: str, value: Scalar | None, unit: str, subject: str = WHOLE_NODE) -> None:
        """Keep a value; None is what the file does not state."""
        if value is not None:
            self.facts.append(ToolFact(item, subject, name, value, unit))

    def failed(self, item: str, detail: str, subject: str = WHOLE_NODE) -> None:
        """The tool says that something is wrong, and no figure says how far."""
        self.problems.append(ToolProblem(item, subject, ProblemKind.ERROR, detail[:1000]))

    def open(self, item: str, detail: str, subject: str = WHOLE_NODE) -> None:
        """The file does not show enough to judge the item."""
        self.problems.append(ToolProblem(item, subject, ProblemKind.NOT_CAPTURED, detail[:1000]))

    def remark(self, name: str, value: object, why: str) -> None:
        """Name what is judged by nobody."""
        self.remarks.append(Remark(name[:200], str(value)[:300], why))

    def stated(self, unix: float | None) -> None:
        """The tool ran then; of several times the oldest counts, so that no evidence looks younger than it is."""
        if unix is None or not 0 < unix < 7e9:
            return
        at = datetime.fromtimestamp(unix, UTC)
        self.stated_at = at if self.stated_at is None else min(self.stated_at, at)


#: Why a remark is not judged, by its code; pages say it in their reader's language.
NO_ITEM = "no_item"
NO_FIGURE = "no_figure"
NOT_TESTED = "not_tested"
OTHER_NODE = "other_node"
NO_PART = "no_part"
NOT_A_NODES = "not_a_nodes"
NO_UNIT = "no_unit"
WHYS: Mapping[str, str] = {
    NO_ITEM: "No item of the checklist asks for it.",
    NO_FIGURE: "It says no figure that a criterion could be held against.",
    NOT_TESTED: "The tool skipped it; what was not tested proves nothing.",
    OTHER_NODE: "It is about another node.",
    NO_PART: "The node has no such part on file.",
    NOT_A_NODES: "It is about a link between nodes, which no single file proves.",
    NO_UNIT: "The file does not say its unit.",
}
