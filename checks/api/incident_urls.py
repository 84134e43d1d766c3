"""Addresses of incidents."""

from django.urls import URLPattern, path

from checks.api.incidents import AlertsView, IncidentsView, IncidentView

urlpatterns: list[URLPattern] = [
    path("api/v1/incidents", IncidentsView.as_view(), name="incidents"),
    path("api/v1/incidents/<int:number>", IncidentView.as_view(), name="incident"),
    path("api/v1/clusters/<slug:cluster>/alertmanager", AlertsView.as_view(), name="alertmanager"),
]
