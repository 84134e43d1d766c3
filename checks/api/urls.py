"""Addresses of the API, as whole paths from the root of the site."""

from django.urls import path

from checks.api import gate_urls, incident_urls, run_urls
from checks.api.claims import ClaimView
from checks.api.enroll import EnrollView
from checks.api.fingerprints import FingerprintView
from checks.api.link_trials import LinkTrialsView, LinkTrialView
from checks.api.plan import PlanView
from checks.api.reports import ReportView
from checks.api.tool_evidence import ToolEvidenceView

urlpatterns = [
    path("api/v1/enroll", EnrollView.as_view(), name="enroll"),
    path("api/v1/reports", ReportView.as_view(), name="reports"),
    path("api/v1/nodes/<str:hostname>/claim", ClaimView.as_view(), name="node-claim"),
    path("api/v1/evidence/<slug:tool>", ToolEvidenceView.as_view(), name="tool-evidence"),
    path("api/v1/nodes/<str:hostname>/link-trials", LinkTrialsView.as_view(), name="node-link-trials"),
    path("api/v1/nodes/<str:hostname>/link-trials/<int:trial>", LinkTrialView.as_view(), name="node-link-trial"),
    path("api/v1/agent/fingerprint", FingerprintView.as_view(), name="agent-fingerprint"),
    path("api/v1/agent/plan", PlanView.as_view(), name="agent-plan"),
    *run_urls.urlpatterns,
    *incident_urls.urlpatterns,
    *gate_urls.urlpatterns,
]
