"""Runs for programs: ``/api/v1/runs…``, with an operator's token. What takes a person is refused (``browser_only``)."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_201_CREATED
from rest_framework.views import APIView

from checks.api.authentication import BearerToken, token_of
from checks.api.decode import decode_json, read_body
from checks.api.openapi import PROBLEMS
from checks.api.permissions import HasScope
from checks.api.run_bodies import CloneOrder, NewRun, PoolOrder, RunEdit, StageOrder
from checks.api.run_json import entry_json, manifest_json, run_json, signatures_json
from checks.api.run_openapi import LEDGER, MANIFEST, PAGED, RUN, RUN_FILTERS, RUNS, body_of
from checks.api.run_query import next_page, read_page, read_run_page
from checks.api.throttles import OperatorThrottle
from checks.selectors.run_rest import (
    cluster_of_token,
    owner_named,
    page_of_ledger,
    page_of_runs,
    run_of_token,
    state_and_packages,
)
from checks.selectors.runs import pool_of
from checks.services.runs import clone_run, create_run, edit_run, move_stage, set_pool
from checks.services.sealing import certificate_of


class OperatorView(APIView):
    """A call with an operator's token; what it is not bound to is not there."""

    authentication_classes = [BearerToken]
    permission_classes = [HasScope]
    required_scope = "operator"
    throttle_classes = [OperatorThrottle]


class RunsView(OperatorView):
    """All runs of the token's clusters."""

    @extend_schema(operation_id="runs_list", tags=["runs"], parameters=RUN_FILTERS, responses={200: RUNS, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """The newest runs; ``next`` leads to older ones."""
        asked = read_run_page(request)
        page = page_of_runs(token_of(request), cluster=asked.cluster, stage=asked.stage, before=asked.before)
        runs = [run_json(run, run.pool.all()) for run in page.runs]
        return Response({"runs": runs, "next": next_page(request, page.before)})

    @extend_schema(operation_id="runs_create", tags=["runs"], request=body_of(NewRun), responses={201: RUN, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Write a run down as a draft."""
        sent, token = decode_json(read_body(request), NewRun), token_of(request)
        cluster = cluster_of_token(token, sent.cluster)
        run = create_run(
            cluster=cluster, slug=sent.slug, spec=sent.spec(), nodes=sent.nodes, by=None, token=token.key,
            owner=owner_named(cluster, sent.owner), now=timezone.now(),
        )  # fmt: skip
        return Response(run_json(run, pool_of(run)), status=HTTP_201_CREATED)


class RunView(OperatorView):
    """One run."""

    @extend_schema(operation_id="runs_read", tags=["runs"], responses={200: RUN, **PROBLEMS})
    def get(self, request: Request, run: str) -> Response:
        """What it is to be, where it stands and on which nodes."""
        found = run_of_token(token_of(request), run)
        return Response(run_json(found, pool_of(found)))

    @extend_schema(operation_id="runs_edit", tags=["runs"], request=body_of(RunEdit), responses={200: RUN, **PROBLEMS})
    def patch(self, request: Request, run: str) -> Response:
        """Change some fields. What was signed about them is outdated by that; once there are signatures say why."""
        token = token_of(request)
        found, sent = run_of_token(token, run), decode_json(read_body(request), RunEdit)
        changes = sent.changes()
        if "owner" in changes:
            changes["owner"] = owner_named(found.cluster, changes["owner"])
        edited = edit_run(
            run=found, changes=changes, by=None, token=token.key, reason=sent.reason, now=timezone.now()
        )  # fmt: skip
        return Response(run_json(edited, pool_of(edited)))


class CloneView(OperatorView):
    """A copy of a run."""

    @extend_schema(
        operation_id="runs_clone", tags=["runs"], request=body_of(CloneOrder), responses={201: RUN, **PROBLEMS}
    )
    def post(self, request: Request, run: str) -> Response:
        """A new draft like the run; nothing that was signed about the one is about the other."""
        token = token_of(request)
        found, sent = run_of_token(token, run), decode_json(read_body(request), CloneOrder)
        made = clone_run(
            run=found, slug=sent.slug, name=sent.name, planned_start=sent.planned_start, nodes=sent.nodes, by=None,
            token=token.key, owner=owner_named(found.cluster, sent.owner), now=timezone.now(),
        )  # fmt: skip
        return Response(run_json(made, pool_of(made)), status=HTTP_201_CREATED)


class PoolView(OperatorView):
    """The nodes that a run may use."""

    @extend_schema(
        operation_id="runs_set_pool", tags=["runs"], request=body_of(PoolOrder), responses={200: RUN, **PROBLEMS}
    )
    def put(self, request: Request, run: str) -> Response:
        """Exactly these nodes. What was signed is outdated by that; once there are signatures say why."""
        token = token_of(request)
        found, sent = run_of_token(token, run), decode_json(read_body(request), PoolOrder)
        changed = set_pool(
            run=found, nodes=sent.nodes, by=None, token=token.key, reason=sent.reason, now=timezone.now()
        )  # fmt: skip
        return Response(run_json(changed, pool_of(changed)))


class StageView(OperatorView):
    """How far a run has come."""

    @extend_schema(
        operation_id="runs_move", tags=["runs"], request=body_of(StageOrder), responses={200: RUN, **PROBLEMS}
    )
    def post(self, request: Request, run: str) -> Response:
        """Move the run on, or back, with a reason."""
        token = token_of(request)
        found, sent = run_of_token(token, run), decode_json(read_body(request), StageOrder)
        moved = move_stage(
            run=found, to=sent.to, by=None, token=token.key, reason=sent.reason, now=timezone.now()
        )  # fmt: skip
        return Response(run_json(moved, pool_of(moved)))


class ManifestView(OperatorView):
    """What there is to sign."""

    @extend_schema(operation_id="runs_manifest", tags=["runs"], responses={200: MANIFEST, **PROBLEMS})
    def get(self, request: Request, run: str) -> Response:
        """The package of each layer as it stands now, its digest, and what is in the way of signing it."""
        found = run_of_token(token_of(request), run)
        return Response(manifest_json(*state_and_packages(found, now=timezone.now())))


class CertificateView(OperatorView):
    """What was signed and by whom, under the site's seal."""

    @extend_schema(
        operation_id="runs_certificate", tags=["runs"],
        responses={(200, "application/json"): {"type": "object"}, **PROBLEMS},
    )  # fmt: skip
    def get(self, request: Request, run: str) -> HttpResponse:
        """A file that ``verify_certificate.py`` verifies without the portal; to be kept byte for byte."""
        found = run_of_token(token_of(request), run)
        text = certificate_of(found, now=timezone.now())
        response = HttpResponse(text, content_type="application/json; charset=utf-8")
        response["Cache-Control"] = "private, no-store"
        return response


class LedgerView(OperatorView):
    """What happened to a run."""

    @extend_schema(operation_id="runs_ledger", tags=["runs"], parameters=PAGED, responses={200: LEDGER, **PROBLEMS})
    def get(self, request: Request, run: str) -> Response:
        """The newest acts about the run, its layers and waivers; ``next`` leads to older ones."""
        found = run_of_token(token_of(request), run)
        page = page_of_ledger(found, before=read_page(request).before)
        return Response({"entries": [*map(entry_json, page.entries)], "next": next_page(request, page.before)})


def signatures_of(request: Request, run: str) -> dict[str, Any]:
    """What the signatures of the run amount to, for whoever may read them."""
    state, _views = state_and_packages(run_of_token(token_of(request), run), now=timezone.now())
    return signatures_json(state)
