"""Builds report v1: what was measured, by whom, under which clocks. The schema is shared with the portal's tests."""

from __future__ import annotations

import hashlib
import math
import os
import time
import zlib
from collections import Counter
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Union

from readiness_agent import __version__
from readiness_agent.facts import ERROR, EVERY_SUBJECT, UNREADABLE, Fact, ProbeResult, Problem
from readiness_agent.identity import IDENTITY, SERIAL
from readiness_agent.node import Moment
from readiness_agent.plan import DAY, SCHEMA
from readiness_agent.runner import Outcome
from readiness_agent.source import Probe
from readiness_agent.state import State

MAX_TEXT = 1024
"""Characters of a fact's value or a problem's detail."""

MAX_SUBJECT = 64

MOST_FACTS, MOST_PROBLEMS = 10_000, 2_000
"""In one report. An item with more than its share costs itself, not the report of all others."""

MAX_EVIDENCE = 4096
"""Bytes of raw text a probe."""

STEADY_UNITS = ("count", "bool", "text", "lanes", "bytes")
"""Units of facts whose change is news. A temperature changes all the time, and its text is sent once a day."""


class Measured(NamedTuple):
    """The outcomes of one report's probes, and the clocks around them."""

    outcomes: Sequence[Outcome]
    started: Moment
    finished: Moment

    def of_probes(self, probes: Sequence[Probe]) -> Measured:
        """The part of it that belongs in a report of *probes*; serials belong in every one."""
        wanted = {IDENTITY.name, *(probe.name for probe in probes)}
        return self._replace(outcomes=[one for one in self.outcomes if one.probe.name in wanted])

    def scheduled(self) -> Measured:
        """What a scheduled report tells: of items that only ride along, those that were measured.

        They count for the run that they were measured for. A tick between two jobs finds no rank to look at, and takes
        nothing back.
        """
        return self._replace(outcomes=[_measured_only(one) for one in self.outcomes])

    def covered(self) -> List[str]:
        """Items that were tried."""
        return sorted({item for outcome in self.outcomes for item in outcome.probe.items})

    def facts(self) -> List[Fact]:
        """All facts about items, without those that are no numbers or texts, or too many for one report."""
        told = self._sendable_facts()
        flooding = _flooding(told, MOST_FACTS)
        return [fact for fact in told if fact.item not in flooding]

    def problems(self) -> List[Problem]:
        """All problems; one more for each fact that cannot be sent, and one for all where an item has too many."""
        told = [problem for outcome in self.outcomes for problem in outcome.result.problems]
        told += [
            Problem(fact.item, fact.subject or EVERY_SUBJECT, UNREADABLE, f"{fact.name}: not a finite number")
            for fact in self._item_facts()
            if not _is_sendable(fact)
        ]
        told += [
            Problem(item, EVERY_SUBJECT, ERROR, f"more facts than the {MOST_FACTS} that one report takes")
            for item in sorted(_flooding(self._sendable_facts(), MOST_FACTS))
        ]
        flooding = _flooding(told, MOST_PROBLEMS)
        return [one for one in told if one.item not in flooding] + [
            _first(told, item)._replace(subject=EVERY_SUBJECT, detail=f"one of {count}: {_first(told, item).detail}")
            for item, count in sorted(flooding.items())
        ]

    def failed_items(self) -> Set[str]:
        """Items with at least one problem."""
        return {problem.item for problem in self.problems()}

    def serials(self) -> Dict[str, str]:
        """Serial numbers by slot."""
        facts = [fact for outcome in self.outcomes for fact in outcome.result.facts]
        return {fact.subject: _text(str(fact.value), 128) for fact in facts if not fact.item and fact.name == SERIAL}

    def _sendable_facts(self) -> List[Fact]:
        return [fact for fact in self._item_facts() if _is_sendable(fact)]

    def _item_facts(self) -> List[Fact]:
        return [fact for outcome in self.outcomes for fact in outcome.result.facts if fact.item]


def _measured_only(outcome: Outcome) -> Outcome:
    """Without the items of a riding probe of which it could not tell everything."""
    if outcome.probe.cadence != "run" or outcome.probe.name == IDENTITY.name:
        return outcome
    told = {fact.item for fact in outcome.result.facts} - {problem.item for problem in outcome.result.problems}
    facts, problems, evidence = outcome.result
    result = ProbeResult(
        tuple(fact for fact in facts if fact.item in told),
        tuple(problem for problem in problems if problem.item in told),
        tuple(one for one in evidence if told.intersection(one.items)),
    )
    return outcome._replace(probe=outcome.probe._replace(items=tuple(sorted(told))), result=result)


class Origin(NamedTuple):
    """Where the facts come from."""

    hostname: str
    kind: str = "live"
    captured_at: Optional[float] = None
    """Unix seconds; of a replay only."""


def build_report(
    cadence: str,
    measured: Measured,
    origin: Origin,
    *,
    evidence: List[Dict[str, Any]],
    lost: Dict[str, int],
    plan_etag: Optional[str],
) -> Dict[str, Any]:
    """One report, ready for JSON."""
    measured = measured if cadence == "check" else measured.scheduled()
    node = {"hostname": origin.hostname, "boot_id": measured.finished.boot_id, "serials": measured.serials()}
    return {
        "schema": SCHEMA,
        "report_id": new_report_id(),
        "agent_version": __version__,
        "node": node,
        "started_at": rfc3339(measured.started.unix),
        "finished_at": rfc3339(measured.finished.unix),
        "clock": _clock(measured),
        "cadence": cadence,
        "plan_etag": plan_etag,
        "origin": origin.kind,
        "captured_at": None if origin.captured_at is None else rfc3339(origin.captured_at),
        "covered": measured.covered(),
        "facts": [_fact(fact) for fact in measured.facts()],
        "problems": [_problem(problem) for problem in measured.problems()],
        "evidence": evidence,
        "lost": lost,
    }


def choose_evidence(outcomes: Iterable[Outcome], state: State, now: Moment) -> List[Dict[str, Any]]:
    """Raw text worth sending: of probes whose steady facts changed, that met a problem, or that sent none for a day."""
    chosen = []
    for outcome in outcomes:
        if not outcome.result.evidence:
            continue
        event, digest = f"evidence {outcome.probe.name}", _steady_digest(outcome)
        age = state.age(event, now)
        if outcome.result.problems or age is None or age >= DAY or state.text(event) != digest:
            chosen += all_evidence(outcome)
            state.mark(event, now)
            state.set_text(event, digest)
    return chosen


def all_evidence(outcome: Outcome) -> List[Dict[str, Any]]:
    """The raw texts of one probe, 4 kB of them together."""
    left, entries = MAX_EVIDENCE, []
    for text, items in outcome.result.evidence:
        kept = text.replace("\0", "\ufffd")  # a database holds no NUL, and the digest is of what is kept
        cut = kept.encode("utf-8", "replace")[:left].decode("utf-8", "ignore")
        left -= len(cut.encode())
        digest = hashlib.sha256(cut.encode()).hexdigest()
        entry = {"probe": outcome.probe.name, "text": cut, "truncated": len(cut) < len(text), "sha256": digest}
        entries.append({**entry, "items": sorted(set(items))})
    return entries


def new_report_id() -> str:
    """A random UUID. The ``uuid`` module would cost more than the report."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def rfc3339(unix: float) -> str:
    """UTC with milliseconds."""
    milliseconds = math.floor(unix * 1000)
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000))
    return f"{whole}.{milliseconds % 1000:03d}Z"


def is_job_running(facts: Iterable[Fact]) -> bool:
    """Whether a job's process was seen on a GPU."""
    return any(fact.item == "gpu-clean" and fact.name == "job_processes" and fact.value for fact in facts)


def _clock(measured: Measured) -> Dict[str, Any]:
    known = {fact.name: fact.value for fact in measured.facts() if fact.item == "clock-sync"}
    return {
        "unix": measured.finished.unix,
        "boottime": measured.finished.boottime,
        "ntp_offset_ms": known.get("offset"),
        "synced": known.get("synchronized"),
    }


def _flooding(told: Sequence[Union[Fact, Problem]], most: int) -> Dict[str, int]:
    """The most talkative items, with how much they have to say: without them the others fit into *most*."""
    flooding: Dict[str, int] = {}
    left = len(told)
    for item, count in Counter(one.item for one in told).most_common() if left > most else ():
        if left > most:
            flooding[item] = count
            left -= count - 1
    return flooding


def _first(problems: Sequence[Problem], item: str) -> Problem:
    return next(problem for problem in problems if problem.item == item)


def _is_sendable(fact: Fact) -> bool:
    return not isinstance(fact.value, float) or math.isfinite(fact.value)


def _fact(fact: Fact) -> Dict[str, Any]:
    value = _text(fact.value, MAX_TEXT) if isinstance(fact.value, str) else fact.value
    return {**fact._asdict(), "subject": _subject(fact.subject), "value": value}


def _problem(problem: Problem) -> Dict[str, Any]:
    detail = _text(problem.detail, MAX_TEXT)
    return {**problem._asdict(), "subject": _subject(problem.subject), "detail": detail}


def _text(text: str, most: int) -> str:
    """*text* as JSON can carry it: a file name that is no UTF-8 must not cost the whole report."""
    return text[:most].encode("utf-8", "replace").decode()


def _subject(subject: str) -> str:
    """*subject*, and of one that is too long its beginning and a checksum: two of them stay two."""
    text = _text(subject, len(subject))
    if len(text) <= MAX_SUBJECT:
        return text
    return f"{text[: MAX_SUBJECT - 9]}~{zlib.crc32(text.encode()):08x}"


def _steady_digest(outcome: Outcome) -> str:
    steady = [
        f"{fact.item} {fact.subject} {fact.name} {fact.value!r}"
        for fact in outcome.result.facts
        if fact.unit in STEADY_UNITS
    ]
    return hashlib.sha256("\n".join(sorted(steady)).encode("utf-8", "replace")).hexdigest()
