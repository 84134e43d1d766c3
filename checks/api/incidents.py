"""Incidents for programs, with an operator's token: open one (once), list, read; and Alertmanager's webhook."""

from typing import Annotated

import msgspec
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_200_OK, HTTP_201_CREATED

from checks.api.authentication import token_of
from checks.api.decode import decode_json, read_body
from checks.api.gate_question import BadQuestion, query_fields
from checks.api.incident_bodies import NewIncident, SentAlerts
from checks.api.incident_json import FILTERS, HEARD, INCIDENT, OPENED, PAGE, incident_json, row_json
from checks.api.openapi import PROBLEMS
from checks.api.run_openapi import body_of
from checks.api.run_query import next_page
from checks.api.runs import OperatorView
from checks.domain.incidents.kinds import Component, Opener, Relation, Standing, Weight
from checks.models import Cluster
from checks.selectors.incidents import Wanted, incident_of_token, page_of_token
from checks.selectors.run_rest import cluster_of_token, run_of_token
from checks.services.incident_alerts import hear_alerts
from checks.services.incident_opening import Opening, open_incident
from checks.services.incident_records import Author, IncidentRefused


class IncidentFilter(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a list of incidents may be asked for."""

    before: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)] | None = None
    cluster: str = ""
    standing: Standing | None = None
    component: Component | None = None
    weight: Weight | None = None
    item: str = ""
    relation: Relation | None = None
    run: str = ""
    node: str = ""
    q: str = ""

    def wanted(self) -> Wanted:
        """The same for the selector."""
        return Wanted(
            text=self.q, cluster=self.cluster, standing=self.standing or "", component=self.component or "",
            weight=self.weight or "", item=self.item, relation=self.relation or "", run=self.run,
            node=self.node, before=self.before,
        )  # fmt: skip


class IncidentsView(OperatorView):
    """All incidents of the token's clusters."""

    @extend_schema(
        operation_id="incidents_list", tags=["incidents"], parameters=FILTERS, responses={200: PAGE, **PROBLEMS}
    )
    def get(self, request: Request) -> Response:
        """The newest incidents that are wanted; ``next`` leads to older ones."""
        page = page_of_token(token_of(request), _filter(request).wanted(), now=timezone.now())
        rows = [row_json(one) for one in page.incidents]
        return Response({"incidents": rows, "next": next_page(request, page.before)})

    @extend_schema(
        operation_id="incidents_open", tags=["incidents"], request=body_of(NewIncident),
        responses={200: OPENED, 201: OPENED, **PROBLEMS},
    )  # fmt: skip
    def post(self, request: Request) -> Response:
        """Tell of an incident, as often as you like under one (source, external_id): it is opened once.

        The same error class in the same part joins the incident that is open (200), or opens the one again that ended
        within 90 days.
        """
        sent, token, now = decode_json(read_body(request), NewIncident), token_of(request), timezone.now()
        if sent.source in set(Opener):
            raise IncidentRefused(f"{sent.source} is how the portal calls its own; give your program another name.")
        opened = open_incident(
            cluster=cluster_of_token(token, sent.cluster), opening=_opening(request, sent), source=sent.source,
            author=Author(token=token.key), now=now, external_id=sent.external_id,
        )  # fmt: skip
        status = HTTP_201_CREATED if opened.outcome == "opened" else HTTP_200_OK
        incident = incident_of_token(token, opened.incident.pk, now=now)
        return Response(row_json(incident) | {"outcome": opened.outcome}, status=status)


class IncidentView(OperatorView):
    """One incident."""

    @extend_schema(operation_id="incidents_read", tags=["incidents"], responses={200: INCIDENT, **PROBLEMS})
    def get(self, request: Request, number: int) -> Response:
        """Its timeline, machines with serials, items and corrective actions."""
        return Response(incident_json(incident_of_token(token_of(request), number, now=timezone.now())))


class AlertsView(OperatorView):
    """Where Alertmanager sends its alerts."""

    @extend_schema(
        operation_id="incidents_alertmanager", tags=["incidents"], request=body_of(SentAlerts),
        responses={200: HEARD, **PROBLEMS},
    )  # fmt: skip
    def post(self, request: Request, cluster: str) -> Response:
        """A webhook of version 4: a group that fires opens an incident, one that resolved makes it stable."""
        token = token_of(request)
        found: Cluster = cluster_of_token(token, cluster)
        group = decode_json(read_body(request), SentAlerts).group()
        heard = hear_alerts(cluster=found, group=group, author=Author(token=token.key), now=timezone.now())
        return Response({"outcome": heard.outcome, "incident": heard.incident.pk if heard.incident else None})


def _opening(request: Request, sent: NewIncident) -> Opening:
    return Opening(
        title=sent.title, weight=sent.weight, component=sent.component, started_at=sent.started_at,
        detected_at=sent.detected_at or sent.started_at, summary=sent.summary, error_class=sent.error_class,
        run=run_of_token(token_of(request), sent.run) if sent.run else None, step=sent.step,
        gpus_affected=sent.gpus_affected, lost_work_s=sent.lost_work_s, told_gpu_seconds=sent.lost_gpu_seconds,
        touched=sent.touched(), links=sent.links(),
    )  # fmt: skip


def _filter(request: Request) -> IncidentFilter:
    try:
        return msgspec.convert(query_fields(request), IncidentFilter, strict=False)
    except msgspec.ValidationError as error:
        raise BadQuestion(f"{error}; see the parameters of this call.") from error
