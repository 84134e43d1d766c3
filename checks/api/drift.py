"""What differs among the nodes of a cluster, and what a run has to expect, for programs that watch."""

from typing import Any, Final

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checks.api.authentication import token_of
from checks.api.openapi import PROBLEMS, shape
from checks.api.runs import OperatorView
from checks.domain.drift.cohort import Odd, cohort_drift
from checks.domain.drift.prints import NOT_THERE, Value
from checks.domain.reliability.forecast import Outlook
from checks.selectors.fingerprints import cohort_of, noise_in_force, prints_now
from checks.selectors.reliability import outlook_of
from checks.selectors.run_rest import cluster_of_token, run_of_token

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_COUNT: Final = {"type": "integer"}
_VALUE: Final = {"type": ["string", "null"], "description": "null: not there"}
_ODD: Final = shape(
    {
        "setting": _TEXT, "usual": _VALUE, "known": _COUNT, "differ": _COUNT,
        "others": {"type": "array", "items": shape({"value": _VALUE, "nodes": {"type": "array", "items": _TEXT}})},
    }
)  # fmt: skip
DRIFT: Final = shape(
    {
        "cluster": _TEXT, "profile": _TEXT, "nodes": _COUNT, "of_nodes": _COUNT, "equal": _COUNT, "noise": _COUNT,
        "settings": {"type": "array", "items": _ODD},
        "divided": {"type": "array", "items": _TEXT, "description": "settings without a usual value"},
    }
)  # fmt: skip
_OUTLOOK: Final = shape(
    {
        "per_1000_node_days": _NUMBER, "interruptions": _NUMBER, "mttf_hours": _NUMBER, "at_least_one": _NUMBER,
        "spares": {"type": "array", "items": _COUNT, "description": "for repairs of 1 and of 7 days"},
    }
)  # fmt: skip
FORECAST: Final = shape(
    {
        "run": _TEXT, "published": {"type": "object", "additionalProperties": _OUTLOOK},
        "own": shape({"low": _OUTLOOK, "mean": _OUTLOOK, "high": _OUTLOOK, "failures": _COUNT, "node_days": _NUMBER}),
    }
)  # fmt: skip


class DriftView(OperatorView):
    """The cohort of a cluster's own hardware profile."""

    @extend_schema(operation_id="clusters_drift", tags=["drift"], responses={200: DRIFT, **PROBLEMS})
    def get(self, request: Request, cluster: str) -> Response:
        """Settings in which some nodes differ from most, the rarest difference first; at most 64 nodes a value."""
        found = cluster_of_token(token_of(request), cluster)
        prints = prints_now(cohort_of(found, found.profile))
        drift = cohort_drift(prints.prints, noise_in_force().covers)
        told = {"cluster": found.slug, "profile": found.profile, "nodes": drift.nodes, "of_nodes": prints.asked}
        counts = {"equal": drift.equal, "noise": drift.noise}
        settings = [_odd_json(odd) for odd in drift.odd]
        return Response(told | counts | {"settings": settings, "divided": [one.name for one in drift.divided]})


class ForecastView(OperatorView):
    """What a run has to expect."""

    @extend_schema(operation_id="runs_forecast", tags=["runs"], responses={200: FORECAST, **PROBLEMS})
    def get(self, request: Request, run: str) -> Response:
        """Interruptions, time between them and spares, by each published rate and by the cluster's own count.

        Both are empty where the cluster's nodes have no GPU.
        """
        found = run_of_token(token_of(request), run)
        outlook = outlook_of(found, now=timezone.now())
        if outlook is None:
            return Response({"run": found.slug, "published": {}, "own": {}})
        low, mean, high = map(_outlook_json, outlook.own)
        counted = {"failures": outlook.history.failures, "node_days": outlook.history.node_days}
        published = {one.source.key: _outlook_json(one.outlook) for one in outlook.published}
        own = {"low": low, "mean": mean, "high": high} | counted
        return Response({"run": found.slug, "published": published, "own": own})


def _odd_json(odd: Odd) -> dict[str, Any]:
    others = [{"value": _said(value), "nodes": list(nodes)} for value, nodes in odd.nodes]
    spread = odd.spread
    told = {"setting": odd.name, "usual": _said(spread.usual), "known": spread.known, "differ": spread.odd}
    return told | {"others": others}


def _said(value: Value) -> str | None:
    return None if value is NOT_THERE or value is None else str(value)


def _outlook_json(outlook: Outlook) -> dict[str, Any]:
    return {
        "per_1000_node_days": outlook.rate,
        "interruptions": outlook.interruptions,
        "mttf_hours": outlook.mttf_h,
        "at_least_one": outlook.at_least_one,
        "spares": list(outlook.spares),
    }
