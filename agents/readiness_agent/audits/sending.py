"""Run evidence: an audit's result as the wire carries it (``run-evidence.v1.json``), and its way to the portal."""

from __future__ import annotations

import hashlib
import math
import time
from typing import Any, Dict, Iterator, List, Sequence, Tuple
from urllib.parse import quote

from readiness_agent import __version__
from readiness_agent.audits import AuditFact, AuditProblem, AuditResult, AuditText
from readiness_agent.config import Config
from readiness_agent.errors import AgentError
from readiness_agent.facts import UNREADABLE
from readiness_agent.files import json_bytes
from readiness_agent.lines import plain
from readiness_agent.push import pack
from readiness_agent.report import MAX_EVIDENCE, MAX_TEXT, new_report_id, rfc3339
from readiness_agent.transport import Answer, Portal, Unreachable, retry_after

SCHEMA = 1

MOST_FACTS, MOST_PROBLEMS, MOST_TEXTS, MOST_ARTEFACTS = 2_000, 500, 128, 100
"""In one piece of evidence."""

MOST_PLAIN = 8 * 1024 * 1024
"""Bytes before compression that the portal takes."""

PAUSES = (1.0, 3.0)
"""Seconds before another try at a portal that did not answer; its own Retry-After counts up to the last one."""

AWAY = 3
"""Exit code where the portal did not take the evidence."""


def evidence_document(tool: str, result: AuditResult, hostname: str, finished_unix: float) -> Dict[str, Any]:
    """One piece of evidence, ready for JSON; a value that JSON cannot carry becomes a problem of its item."""
    odd = [fact for fact in result.facts if not _is_sendable(fact)]
    problems = [*result.problems, *(AuditProblem(one.item, UNREADABLE, f"{one.name}: no finite number") for one in odd)]
    return {
        "schema": SCHEMA,
        "evidence_id": new_report_id(),
        "tool": tool,
        "agent_version": __version__,
        "hostname": hostname,
        "finished_at": rfc3339(finished_unix),
        "covered": sorted(set(result.covered)),
        "facts": [_fact(fact) for fact in result.facts if _is_sendable(fact)][:MOST_FACTS],
        "problems": [{**one._asdict(), "detail": _text(one.detail, MAX_TEXT)} for one in problems][:MOST_PROBLEMS],
        "evidence": [_evidence(one) for one in (*result.evidence, *_findings(tool, result))][:MOST_TEXTS],
        "artefacts": [{**one._asdict(), "name": _text(plain(one.name)[-150:], 150)} for one in result.artefacts][
            :MOST_ARTEFACTS
        ],
    }


def push_evidence(config: Config, token: str, run: str, document: Dict[str, Any]) -> Dict[str, Any]:
    """Deliver *document*; returns the portal's answer with its verdicts.

    Raises:
        AgentError: exit 3, the portal is away, or it refused, with its reason.
    """
    body, made = pack(document), time.monotonic()
    if len(json_bytes(document)) > MOST_PLAIN:
        raise AgentError(
            "the audit found more than the portal takes at once (8 MiB): audit fewer files at a time", AWAY
        )
    for pause in (*PAUSES, None):
        try:
            answer = _post(config, token, run, body, time.monotonic() - made)
        except Unreachable as error:
            if pause is None:
                raise AgentError(f"{error}; nothing was sent: run the audit again when it is back", AWAY) from None
        else:
            words = answer.json() or {}
            if 200 <= answer.status < 300 and words.get("evidence_id") == document["evidence_id"]:
                return words
            if pause is None or (answer.status < 500 and answer.status not in (408, 425, 429)):
                raise AgentError(_refusal(answer), AWAY)
            pause = min(max(pause, retry_after(answer) or 0.0), PAUSES[-1])
        time.sleep(pause)
    raise AssertionError  # the last try has returned or raised


def _post(config: Config, token: str, run: str, body: bytes, age: float) -> Answer:
    headers = {"Content-Encoding": "gzip", "Report-Age": f"{age:.3f}"}
    portal = Portal(config, token)  # a connection that was late is not used again
    try:
        return portal.post(f"/api/v1/runs/{quote(run, safe='')}/evidence", headers, body)
    finally:
        portal.close()


def _refusal(answer: Answer) -> str:
    words = answer.json() or {}
    said = str(words.get("detail") or words.get("title") or "")
    if 200 <= answer.status < 300:
        return f"something between here and the portal answered {answer.status}, not the portal: check portal and proxy"
    return f"the portal answered {answer.status}{': ' + said if said else ''}"


def _findings(tool: str, result: AuditResult) -> Iterator[AuditText]:
    """What people are shown of each item, as the text behind it."""
    for item in sorted({one.item for one in result.findings}):
        lines = [f"{one.place}: {one.said}" for one in result.findings if one.item == item]
        yield AuditText(tool, "\n".join(lines), (item,))


def _evidence(one: AuditText) -> Dict[str, Any]:
    kept = one.text.replace("\0", "\ufffd")  # a database holds no NUL, and the digest is of what is kept
    cut = kept.encode("utf-8", "replace")[:MAX_EVIDENCE].decode("utf-8", "ignore")
    digest = hashlib.sha256(cut.encode()).hexdigest()
    told = {"probe": _text(one.probe, 64), "text": cut, "truncated": len(cut) < len(kept), "sha256": digest}
    return {**told, "items": sorted(set(one.items))}


def _is_sendable(fact: AuditFact) -> bool:
    return not isinstance(fact.value, float) or math.isfinite(fact.value)


def _fact(fact: AuditFact) -> Dict[str, Any]:
    value = _text(fact.value, MAX_TEXT) if isinstance(fact.value, str) else fact.value
    return {**fact._asdict(), "value": value}


def _text(text: str, most: int) -> str:
    """*text* as JSON can carry it: a file name that is no UTF-8 must not cost the evidence."""
    return text[:most].encode("utf-8", "replace").decode()


def shown(result: AuditResult) -> Dict[str, List[Any]]:
    """The result as ``--json`` prints it."""
    parts: Sequence[Tuple[str, Sequence[Any]]] = (
        ("facts", result.facts), ("problems", result.problems), ("findings", result.findings),
        ("artefacts", result.artefacts),
    )  # fmt: skip
    return {"covered": sorted(set(result.covered)), **{name: [one._asdict() for one in held] for name, held in parts}}
