"""Addresses of what schedulers and monitors ask, and of what nodes download."""

from django.urls import path

from checks.api import agent_files, health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("agent/readiness-agent.pyz", agent_files.archive, name="agent-archive"),
    path("agent/readiness-agent.pyz.sha256", agent_files.checksum, name="agent-checksum"),
    path("agent/install.sh", agent_files.installer, name="agent-installer"),
]
