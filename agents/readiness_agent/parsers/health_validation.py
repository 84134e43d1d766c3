"""The verdict of NVIDIA Health Validation about one node, one JSON document.

Its documentation names the severities, the ids of the checks and the signals that each of them reads. A check is found
by its id and severity wherever it stands in the document, so that another layout of the rest does no harm.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.documents import load_document, objects_in, text_of
from readiness_agent.parsers.moments import unix_time
from readiness_agent.parsers.saved import Reading, Saved

SEVERITIES = ("PASS", "INFO", "WARNING", "CRITICAL", "UNKNOWN")
_IDS = ("check_id", "checkId", "id")
_HOSTS = ("hostname", "node_name", "nodeName", "node", "node_id")
_TIMES = ("timestamp", "evaluated_at", "evaluatedAt", "collected_at", "time")


class CheckResult(NamedTuple):
    """One check of the node, or of one entity of it."""

    check: str
    severity: str
    entity: str
    said: str
    signals: Dict[str, Any]


class NodeVerdict(NamedTuple):
    """What the document says; *host* and *at* where it does."""

    host: str
    at: Optional[float]
    checks: Tuple[CheckResult, ...]


def node_verdict(text: str) -> NodeVerdict:
    """Every check of the document.

    Raises:
        Unreadable: no JSON, or none with a check in it.
    """
    document = load_document(text)
    checks = [one for one in map(_check, objects_in(document)) if one is not None]
    if not checks:
        raise Unreadable("this JSON holds no check with an id and a severity of Health Validation")
    return NodeVerdict(text_of(document, *_HOSTS) or "", unix_time(text_of(document, *_TIMES)), tuple(checks))


def _check(values: Dict[str, Any]) -> Optional[CheckResult]:
    name, severity = text_of(values, *_IDS), text_of(values, "severity", "verdict", "status")
    if name is None or severity is None or severity.upper() not in SEVERITIES:
        return None
    entity = values.get("entity")
    messages = values.get("messages")
    said = text_of(values, "message", "reason") or "; ".join(
        one for one in (messages if isinstance(messages, list) else ()) if isinstance(one, str)
    )
    return CheckResult(
        name[:64],
        severity.upper(),
        (text_of(values, "entity", "entity_id") or text_of(entity, "id", "name") or "")[:64],
        said[:300],
        _signals(values),
    )


def _signals(values: Dict[str, Any]) -> Dict[str, Any]:
    """Values by signal, as an object or as a list of names and values."""
    for name in ("signals", "signal_values", "measurements", "evidence"):
        told = values.get(name)
        if isinstance(told, dict):
            return told
        if isinstance(told, list):
            pairs: List[Tuple[Optional[str], Any]] = [
                (text_of(one, "name", "signal"), one.get("value")) for one in told if isinstance(one, dict)
            ]
            return {key: value for key, value in pairs if key}
    return {}


def read_health_validation(text: str) -> Saved:
    """The severity of each check, and a sentence for each that is not at its best. Never raises."""
    reading = Reading()
    try:
        verdict = node_verdict(text)
    except Unreadable as error:
        reading.problem(error.detail)
        return reading.result()
    for check in verdict.checks:
        reading.fact("severity", check.severity, "text", f"{check.check} {check.entity}".strip())
        if check.severity not in ("PASS", "INFO"):
            reading.problem(f"{check.check}: {check.severity}: {check.said}")
    return reading.result()
