"""Takes in what a tool printed about a node: read by its adapter, then judged and stored as a report's facts are.

What the file does not speak of is left alone. Facts that leave an item open take nothing from what is known of it; a
failure always counts, unless something newer was measured.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec
from django.db import transaction
from msgspec import Struct

from checks.adapters.reading import MOST_REMARKS, WHYS, NodeOnFile, Reading
from checks.adapters.tools import TOOLS, read_output
from checks.domain.errors import CountersignError
from checks.domain.facts import WHOLE_NODE
from checks.domain.items import Item
from checks.domain.profiles import Ruleset
from checks.domain.units import Scalar
from checks.domain.verdicts import Scope, Verdict
from checks.models import Node, NodeItemState, Token, ToolEvidence
from checks.selectors.rules import ruleset_for
from checks.services.evidence import digest_of
from checks.services.hardware import is_part
from checks.services.ledger import write_entry
from checks.services.node_store import Presented, lock_told
from checks.services.plans import require_active
from checks.services.report_clock import ReportClock
from checks.services.report_v1 import ClockV1, EvidenceV1, FactV1, LostV1, NodeV1, ProblemV1, ReportV1
from checks.services.reports import TakenIn, require_replays_taken, take_in

#: The evidence of the longest life is a memory test's.
OLDEST: Final = timedelta(days=30)
#: Clocks that are kept in step differ by less.
SKEW: Final = timedelta(minutes=2)
#: How far the caller's time may lie from the one that the output states.
AGREES: Final = timedelta(minutes=10)
_NAMES: Final = UUID("6f1d1c0e-6d0b-5b0e-9a53-3c1f4d7d8a10")
_SHOWN: Final = 4096


class UnknownTool(CountersignError):
    """No adapter of that name."""

    code = "unknown_tool"
    status = 404

    def __init__(self, tool: str) -> None:
        super().__init__(f"{tool[:40]!r} is no tool whose output is read here; name one of {', '.join(TOOLS)}.")


class BadMoment(CountersignError):
    """When the tool ran is not told, lies in the future, or too long ago."""

    code = "bad_measured_at"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What was sent: the tool's name, its bytes, and when it ran by the word of whoever sends it."""

    tool: str
    content: bytes
    measured_at: datetime | None

    @property
    def text(self) -> str:
        """The bytes as text; what is none becomes a sign that no number and no word holds."""
        return self.content.decode("utf-8-sig", "replace").replace("\0", "\ufffd")


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent it: a person at a browser, or a token."""

    person: Any = None
    token: Token | None = None


class ToolLine(Struct):
    """One row that the file speaks of, with its verdict afterwards. *taken*: it stands on this file; else *why* not."""

    item: str
    subject: str
    verdict: str
    severity: str
    reason: str
    detail: str
    taken: bool
    why: str


class ToolFactLine(Struct):
    """One value that was read, under the catalogue's names."""

    item: str
    subject: str
    name: str
    value: Scalar
    unit: str


class ToolRemark(Struct):
    """What the file says that is judged by nobody; *code* stays the same in every language."""

    name: str
    value: str
    code: str
    why: str


class ToolReceipt(Struct):
    """What is answered. *stated*: the output itself tells when it ran; *more_remarks* are not listed."""

    evidence_id: UUID
    tool: str
    cluster: str
    node: str
    digest: str
    measured_at: datetime
    stated: bool
    verdicts: list[ToolLine]
    facts: list[ToolFactLine]
    remarks: list[ToolRemark]
    more_remarks: int
    trouble: str
    duplicate: bool = False
    accepted: bool = True


class _Undone(Exception):
    """Nothing of it is to stay."""


def record_tool_evidence(*, node: Node, output: ToolOutput, sender: Sender, now: datetime) -> ToolReceipt:
    """Read *output*, judge what it says of *node*, and keep it; the same output of the same time is taken once.

    Raises:
        UnknownTool: no adapter of that name.
        WrongTool, UnreadableOutput, OtherHost: nothing of it can be taken.
        BadMoment: nobody says when the tool ran, or that is in the future or over 30 days ago.
        NodeRetired: the node or its cluster takes no part any more.
        ReportRefused: it is a replayed node, and its cluster takes none.
    """
    with transaction.atomic():
        return _record(node, output, sender, now)


def preview_tool_evidence(*, node: Node, output: ToolOutput, sender: Sender, now: datetime) -> ToolReceipt:
    """What `record_tool_evidence` would answer; nothing of it stays. It raises the same."""
    try:
        with transaction.atomic():
            receipt = _record(node, output, sender, now)
            raise _Undone
    except _Undone:
        return receipt


def _record(node: Node, output: ToolOutput, sender: Sender, now: datetime) -> ToolReceipt:
    if output.tool not in TOOLS:
        raise UnknownTool(output.tool)
    reading = read_output(output.tool, output.text, _on_file(node))  # before the lock: a large file takes a while
    presented = lock_told(node.pk)
    assert presented is not None  # noqa: S101  (nodes are never deleted)
    retired, closed = presented.retired_at is not None, presented.closed_at is not None
    require_active(presented.hostname, retired=retired, cluster_closed=closed)
    require_replays_taken(presented)
    measured_at = _moment(reading.stated_at, output.measured_at, now)
    digest = hashlib.sha256(output.content).hexdigest()
    evidence_id = uuid5(_NAMES, f"{presented.node_id} {output.tool} {digest} {measured_at.isoformat()}")
    known = ToolEvidence.objects.filter(evidence_id=evidence_id).first()
    if known is not None:
        return msgspec.structs.replace(msgspec.convert(known.answer, ToolReceipt), duplicate=True)
    report = _report(evidence_id, presented, output, reading, measured_at)
    taken = take_in(presented=presented, report=report, clock=ReportClock(now, measured_at, 0.0), now=now)
    receipt = _receipt(report, presented, output, reading, taken, digest, measured_at)
    _keep(node, output, sender, receipt, now)
    return receipt


def _on_file(node: Node) -> NodeOnFile:
    uuids = {serial: slot for slot, serial in node.serials.items() if is_part(slot) and slot.startswith("gpu")}
    links = NodeItemState.objects.filter(node=node, item="rdma-link").values_list("subject", "value")
    devices = {str(value.get("facts", {}).get("device", "")): subject for subject, value in links}
    gpus = ruleset_for(node.cluster, node).profile.expected(Scope.GPU)
    return NodeOnFile(node.hostname, gpus, uuids, {name: held for name, held in devices.items() if name})


def _moment(stated: datetime | None, told: datetime | None, now: datetime) -> datetime:
    """When the tool ran: as its output says, else as the caller does; the time of the upload is neither."""
    if stated is not None and told is not None and abs(stated - told) > AGREES:
        raise BadMoment(
            f"The output says that it was measured at {stated.isoformat()}; leave measured_at out, or send that time."
        )
    at = stated or told
    if at is None:
        raise BadMoment("The output does not say when the tool ran; send that as measured_at, with a time zone.")
    if at > now + SKEW:
        raise BadMoment(f"{at.isoformat()} lies in the future; set that machine's clock, or correct measured_at.")
    if at < now - OLDEST:
        raise BadMoment(f"{at.isoformat()} is over {OLDEST.days} days ago; run the tool again.")
    return min(at, now).astimezone(UTC)


def _report(
    evidence_id: UUID, presented: Presented, output: ToolOutput, reading: Reading, measured_at: datetime
) -> ReportV1:
    """What the file says as a report says it. Its boot clock stands at 0: only differences matter."""
    covered = list(dict.fromkeys([*(one.item for one in reading.facts), *(one.item for one in reading.problems)]))
    text = output.text
    shown = text[:_SHOWN]
    return ReportV1(
        schema=1,
        report_id=evidence_id,
        agent_version=presented.agent_version,
        node=NodeV1(presented.hostname, presented.boot_id, {}),
        started_at=measured_at,
        finished_at=measured_at,
        clock=ClockV1(measured_at.timestamp(), 0.0),
        cadence="check",
        origin="replay" if presented.origin == "replay" else "live",
        covered=covered,
        facts=[FactV1(one.item, one.subject, one.name, one.value, one.unit, 0.0) for one in reading.facts],
        problems=[ProblemV1(one.item, one.subject or None, one.kind.value, one.detail) for one in reading.problems],
        evidence=[EvidenceV1(output.tool, shown, len(text) > _SHOWN, digest_of(shown), covered)] if covered else [],
        lost=LostV1(0, 0),
    )


def _receipt(
    report: ReportV1,
    presented: Presented,
    output: ToolOutput,
    reading: Reading,
    taken: TakenIn,
    digest: str,
    measured_at: datetime,
) -> ToolReceipt:
    remarks = [ToolRemark(one.name, one.value, one.why, WHYS[one.why]) for one in reading.remarks]
    return ToolReceipt(
        evidence_id=report.report_id,
        tool=output.tool,
        cluster=presented.cluster,
        node=presented.hostname,
        digest=digest,
        measured_at=measured_at,
        stated=reading.stated_at is not None,
        verdicts=list(_lines(report, taken, measured_at)),
        facts=[ToolFactLine(one.item, one.subject, one.name, one.value, one.unit) for one in reading.facts],
        remarks=remarks[:MOST_REMARKS],
        more_remarks=max(0, len(remarks) - MOST_REMARKS),
        trouble=taken.trouble,
    )


def _lines(report: ReportV1, taken: TakenIn, measured_at: datetime) -> Iterator[ToolLine]:
    """A line for each row that the file speaks of, whether or not it now stands on the file."""
    for key in report.covered:
        item = taken.ruleset.items.get(key)
        if item is None or key not in taken.ruleset.of_nodes:
            yield ToolLine(key, WHOLE_NODE, Verdict.NA, "", "", "", taken=False, why="not_applicable")
            continue
        for subject in _subjects(report, taken.ruleset, item):
            yield _line(item, subject, taken, measured_at)


def _subjects(report: ReportV1, ruleset: Ruleset, item: Item) -> Iterable[str]:
    spoken = [one.subject for one in report.facts if one.item == item.key]
    spoken += [one.subject or WHOLE_NODE for one in report.problems if one.item == item.key]
    expected = ruleset.subjects(item.key)
    return expected if WHOLE_NODE in spoken else sorted({*spoken}, key=lambda name: (len(name), name))


def _line(item: Item, subject: str, taken: TakenIn, measured_at: datetime) -> ToolLine:
    row = taken.rows.get((item.key, subject))
    if row is None:
        return ToolLine(item.key, subject, Verdict.UNKNOWN, item.severity, "", "", taken=False, why="no_row")
    written = (item.key, subject) in taken.written
    known_at = max(filter(None, (row.observed_at, taken.stamps.get(row.cadence))), default=None)
    older = known_at is not None and known_at >= measured_at
    why = "" if written else "older" if older else "leaves_open" if known_at is not None else "no_row"
    return ToolLine(item.key, subject, row.raw, row.severity, row.reason, row.detail, taken=written, why=why)


def _keep(node: Node, output: ToolOutput, sender: Sender, receipt: ToolReceipt, now: datetime) -> None:
    ToolEvidence.objects.create(
        evidence_id=receipt.evidence_id, node=node, tool=receipt.tool, digest=receipt.digest,
        size=len(output.content), body=zlib.compress(output.content), measured_at=receipt.measured_at,
        received_at=now, by=sender.person, token=sender.token.key if sender.token else "",
        answer=msgspec.to_builtins(receipt),
    )  # fmt: skip
    if sender.person is not None:
        taken = {line.item: line.verdict for line in receipt.verdicts if line.taken}
        write_entry(
            what="evidence_uploaded", target=receipt.node, who=sender.person, cluster=node.cluster, now=now,
            data={
                "tool": receipt.tool, "digest": receipt.digest, "evidence_id": str(receipt.evidence_id),
                "measured_at": receipt.measured_at.isoformat(), "verdicts": taken,
            },
        )  # fmt: skip
