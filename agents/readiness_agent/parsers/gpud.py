"""States of gpud, as its ``/v1/states`` gives them: a list of components, each with its states.

*Healthy* is what gpud makes of its own look: it says so as well when no driver is loaded, or when it has not looked
yet. What was measured stands, if anywhere, as JSON within ``extra_info.data``.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.documents import load_document, text_of
from readiness_agent.parsers.moments import unix_time
from readiness_agent.parsers.saved import Reading, Saved

HEALTHY = "Healthy"
UNHEALTHY = ("Unhealthy", "Degraded")


class GpudState(NamedTuple):
    """One state of one component."""

    component: str
    health: str
    reason: str
    at: Optional[float]
    """When gpud looked, seconds since 1970."""
    data: Any
    """What it measured; an empty object where it does not say, or where that is damaged."""


def gpud_states(text: str) -> Tuple[GpudState, ...]:
    """All states.

    Raises:
        Unreadable: no JSON, or no list of components with states.
    """
    document = load_document(text)
    if isinstance(document, dict):
        document = [document]
    found: List[GpudState] = []
    for component in document if isinstance(document, list) else ():
        states = component.get("states") if isinstance(component, dict) else None
        name = text_of(component, "component")
        if name is None or not isinstance(states, list):
            raise Unreadable("this JSON is no list of components with states, as gpud's /v1/states gives it")
        found += [_state(name, state) for state in states if isinstance(state, dict)]
    if not found:
        raise Unreadable("this JSON holds no state of gpud")
    return tuple(found)


def _state(component: str, state: Dict[str, Any]) -> GpudState:
    health = text_of(state, "health")
    if health is None and isinstance(state.get("healthy"), bool):  # gpud before its health was a word
        health = HEALTHY if state["healthy"] else UNHEALTHY[0]
    reason = " ".join(one for one in (text_of(state, "reason"), text_of(state, "error")) if one)
    return GpudState(component[:64], health or "unknown", reason[:300], unix_time(text_of(state, "time")), _data(state))


def _data(state: Dict[str, Any]) -> Any:
    told = text_of(state.get("extra_info"), "data")
    try:
        return load_document(told) if told else {}
    except Unreadable:
        return {}


def read_gpud(text: str) -> Saved:
    """The health of each component, and a sentence for each that is not healthy. Never raises."""
    reading = Reading()
    try:
        states = gpud_states(text)
    except Unreadable as error:
        reading.problem(error.detail)
        return reading.result()
    for state in states:
        reading.fact("health", state.health[:64], "text", state.component)
        if state.health != HEALTHY:
            reading.problem(f"{state.component}: {state.health}: {state.reason}")
    return reading.result()
