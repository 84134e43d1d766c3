"""Incidents as JSON, and the shapes of it for the OpenAPI document."""

from typing import Any, Final

from drf_spectacular.utils import OpenApiParameter

from checks.api.openapi import shape
from checks.api.run_openapi import PAGED
from checks.domain.incidents.kinds import ActionState, Component, Relation, Standing, Weight
from checks.domain.incidents.losses import money_lost
from checks.models import CorrectiveAction, Incident, IncidentEvent

_STRING: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_NO_TIME: Final = {"type": ["string", "null"], "format": "date-time"}
_COUNT: Final = {"type": "integer"}
_NO_COUNT: Final = {"type": ["integer", "null"]}


def _one_of(kinds: Any) -> dict[str, Any]:
    return {"type": "string", "enum": [kind.value for kind in kinds]}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_HEAD: Final = {
    "number": _COUNT, "name": _STRING, "cluster": _STRING, "title": _STRING, "weight": _one_of(Weight),
    "component": _one_of(Component), "standing": _one_of(Standing), "error_class": _STRING, "fingerprint": _STRING,
    "run": _STRING, "step": _NO_COUNT, "source": _STRING, "started_at": _TIME, "detected_at": _TIME,
    "stable_at": _NO_TIME, "closed_at": _NO_TIME, "occurrences": _COUNT, "gpus_affected": _NO_COUNT,
    "lost_gpu_seconds": {**_NO_COUNT, "description": "null: nobody said what stood still"},
    "lost_usd": {"type": ["string", "null"], "description": "null: no price, or nothing to multiply it with"},
}  # fmt: skip
ROW: Final = shape(_HEAD)
INCIDENT: Final = shape(
    _HEAD | {
        "summary": _STRING, "merged_into": _NO_COUNT,
        "nodes": _list(shape(dict.fromkeys(("hostname", "part", "machine_serial", "part_serial"), _STRING))),
        "items": _list(shape({"item": _STRING, "relation": _one_of(Relation), "why": _STRING})),
        "events": _list(shape({
            "at": _TIME, "kind": _STRING, "text": _STRING, "by": _STRING, "data": {"type": "object"},
        })),
        "actions": _list(shape({
            "title": _STRING, "kind": _STRING, "state": _one_of(ActionState), "owner": _STRING, "item": _STRING,
            "due": {"type": ["string", "null"], "format": "date"}, "proof": _STRING,
        })),
    }
)  # fmt: skip
OPENED: Final = shape(_HEAD | {"outcome": {"type": "string", "enum": ["opened", "joined", "reopened", "known"]}})
HEARD: Final = shape(
    {
        "outcome": {"type": "string", "enum": ["opened", "joined", "reopened", "stable", "noted", "known", "ignored"]},
        "incident": _NO_COUNT,
    }
)
PAGE: Final = shape({"incidents": _list(ROW), "next": {"type": ["string", "null"]}})
FILTERS: Final = [
    *PAGED,
    OpenApiParameter("cluster", str, description="Incidents of this cluster only."),
    OpenApiParameter("standing", str, enum=[one.value for one in Standing]),
    OpenApiParameter("component", str, enum=[one.value for one in Component]),
    OpenApiParameter("weight", str, enum=[one.value for one in Weight]),
    OpenApiParameter("item", str, description="Incidents that this item is linked to."),
    OpenApiParameter("relation", str, enum=[one.value for one in Relation], description="With `item`: as what."),
    OpenApiParameter("run", str, description="Incidents of this run."),
    OpenApiParameter("node", str, description="Incidents that touched this host name."),
    OpenApiParameter("q", str, description="Every word of it, in English or Chinese."),
]


def row_json(incident: Any) -> dict[str, Any]:
    """What an incident is, without what belongs to it; *incident* has ``lost_s``."""
    usd = money_lost(incident.lost_s, incident.usd_per_gpu_hour)
    return {
        "number": incident.pk, "name": str(incident), "cluster": incident.cluster.slug, "title": incident.title,
        "weight": incident.weight, "component": incident.component, "standing": incident.standing,
        "error_class": incident.error_class, "fingerprint": incident.fingerprint,
        "run": incident.run.slug if incident.run else "", "step": incident.step, "source": incident.source,
        "started_at": incident.started_at, "detected_at": incident.detected_at, "stable_at": incident.stable_at,
        "closed_at": incident.closed_at, "occurrences": incident.occurrences,
        "gpus_affected": incident.gpus_affected, "lost_gpu_seconds": incident.lost_s,
        "lost_usd": None if usd is None else f"{usd:.2f}",
    }  # fmt: skip


def incident_json(incident: Any) -> dict[str, Any]:
    """All that is known of an incident."""
    held: Incident = incident
    parts = ("hostname", "part", "machine_serial", "part_serial")
    return row_json(incident) | {
        "summary": held.summary, "merged_into": held.merged_into_id,
        "nodes": list(held.touched.values(*parts)),
        "items": list(held.links.values("item", "relation", "why")),
        "events": [_event(one) for one in held.events.select_related("by")],
        "actions": [_action(one) for one in held.actions.select_related("owner")],
    }  # fmt: skip


def _event(event: IncidentEvent) -> dict[str, Any]:
    by = str(event.by) if event.by else event.token
    return {"at": event.at, "kind": event.kind, "text": event.text, "by": by, "data": event.data}


def _action(action: CorrectiveAction) -> dict[str, Any]:
    return {
        "title": action.title, "kind": action.kind, "state": action.state,
        "owner": str(action.owner) if action.owner else "", "item": action.item, "due": action.due,
        "proof": action.proof,
    }  # fmt: skip
