"""Addresses of runs, and of what only people do."""

from typing import Final

from django.urls import URLPattern, path

from checks.api import drift, estimates, run_starts, runs
from checks.api.run_acts import PersonsActView, SignaturesView
from checks.api.run_evidence import RunEvidenceView

_RUN: Final = "api/v1/runs/<slug:run>"
_CLUSTER: Final = "api/v1/clusters/<slug:cluster>"
#: Signing has the address under which signatures are read.
PERSONS_ACTS: Final = {
    "revoke": f"{_RUN}/signatures/<int:number>/revocation",
    "waive": f"{_RUN}/waivers",
    "approve-waiver": f"{_RUN}/waivers/<int:number>/approval",
    "end-waiver": f"{_RUN}/waivers/<int:number>/end",
    "override": f"{_RUN}/overrides",
    "end-override": f"{_RUN}/overrides/<int:number>/end",
    "attest": f"{_RUN}/attestations",
    "delegate": f"{_CLUSTER}/delegations",
    "end-delegation": f"{_CLUSTER}/delegations/<int:number>/end",
    "propose-policy": f"{_CLUSTER}/policies",
    "approve-policy": f"{_CLUSTER}/policies/<int:number>/approval",
    "grant-role": f"{_CLUSTER}/roles",
}

urlpatterns: list[URLPattern] = [
    path("api/v1/runs", runs.RunsView.as_view(), name="runs"),
    path(_RUN, runs.RunView.as_view(), name="run"),
    path(f"{_RUN}/clone", runs.CloneView.as_view(), name="run-clone"),
    path(f"{_RUN}/pool", runs.PoolView.as_view(), name="run-pool"),
    path(f"{_RUN}/stage", runs.StageView.as_view(), name="run-stage"),
    path(f"{_RUN}/started", run_starts.StartedView.as_view(), name="run-started"),
    path(f"{_RUN}/restarted", run_starts.RestartedView.as_view(), name="run-restarted"),
    path(f"{_RUN}/replace", run_starts.ReplaceView.as_view(), name="run-replace"),
    path(f"{_RUN}/evidence", RunEvidenceView.as_view(), name="run-evidence"),
    path(f"{_RUN}/manifest", runs.ManifestView.as_view(), name="run-manifest"),
    path(f"{_RUN}/signatures", SignaturesView.as_view(), name="run-signatures"),
    path(f"{_RUN}/certificate", runs.CertificateView.as_view(), name="run-certificate"),
    path(f"{_RUN}/ledger", runs.LedgerView.as_view(), name="run-ledger"),
    path(f"{_RUN}/estimates", estimates.EstimatesView.as_view(), name="run-estimates"),
    path(f"{_RUN}/forecast", drift.ForecastView.as_view(), name="run-forecast"),
    path(f"{_CLUSTER}/drift", drift.DriftView.as_view(), name="cluster-drift"),
    path("api/v1/estimates/<int:number>", estimates.EstimateView.as_view(), name="estimate"),
    path("api/v1/estimates/<int:number>/actuals", estimates.ActualsView.as_view(), name="estimate-actuals"),
    *(path(address, PersonsActView.as_view(), name=f"person-{act}") for act, address in PERSONS_ACTS.items()),
]
