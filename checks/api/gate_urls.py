"""Addresses of what schedulers and monitors ask, and of what nodes download."""

from django.urls import path, re_path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from checks.api import agent_files, gate, gate_text, health
from checks.api.docs import TryItOutView, api_docs
from checks.api.metrics import MetricsView
from checks.api.ready_nodes import ready_nodes

urlpatterns = [
    path("api/v1/clusters/<slug:cluster>/readiness", gate.cluster_readiness, name="gate"),
    path("api/v1/clusters/<slug:cluster>/nodes/<str:node>/readiness", gate.node_readiness, name="gate-node"),
    path("api/v1/clusters/<slug:cluster>/ready-nodes", ready_nodes, name="gate-ready-nodes"),
    path("api/v1/runs/<slug:run>/readiness", gate.run_readiness, name="gate-run"),
    path("gate/<slug:cluster>", gate_text.cluster_text, name="gate-text"),
    path("gate/<slug:cluster>/<str:node>", gate_text.node_text, name="gate-text-node"),
    re_path(r"^gate(?:/.*)?$", gate_text.no_such_address),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("api/v1/schema", SpectacularAPIView.as_view(permission_classes=[AllowAny]), name="schema"),
    path("api/v1/docs", api_docs, name="api-docs"),
    path("api/v1/docs/try", TryItOutView.as_view(), name="api-docs-try"),
    path("agent/readiness-agent.pyz", agent_files.archive, name="agent-archive"),
    path("agent/readiness-agent.pyz.sha256", agent_files.checksum, name="agent-checksum"),
    path("agent/install.sh", agent_files.installer, name="agent-installer"),
    re_path(r"^api(?:/.*)?$", gate.no_such_address),
]
