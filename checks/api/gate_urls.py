"""Addresses of what schedulers and monitors ask, and of what nodes download."""

from django.urls import path

from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from checks.api import agent_files, health
from checks.api.metrics import MetricsView

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("api/v1/schema", SpectacularAPIView.as_view(permission_classes=[AllowAny]), name="schema"),
    path("agent/readiness-agent.pyz", agent_files.archive, name="agent-archive"),
    path("agent/readiness-agent.pyz.sha256", agent_files.checksum, name="agent-checksum"),
    path("agent/install.sh", agent_files.installer, name="agent-installer"),
]
