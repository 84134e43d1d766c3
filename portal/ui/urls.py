"""Addresses of the pages."""

from django.urls import path

from portal.ui.views.board import board
from portal.ui.views.cluster import cluster, cluster_csv, clusters
from portal.ui.views.decision import decision
from portal.ui.views.enrol import enrol, revoke_enrolment
from portal.ui.views.item import item, node_item
from portal.ui.views.node import node, recheck
from portal.ui.views.status import status

app_name = "ui"
urlpatterns = [
    path("", board, name="board"),
    path("clusters/", clusters, name="clusters"),
    path("clusters/<slug:slug>/", cluster, name="cluster"),
    path("clusters/<slug:slug>/nodes.csv", cluster_csv, name="cluster_csv"),
    path("clusters/<slug:slug>/enrol/", enrol, name="enrol"),
    path("clusters/<slug:slug>/enrol/<slug:key>/revoke/", revoke_enrolment, name="revoke_enrolment"),
    path("clusters/<slug:slug>/items/<slug:item>/", item, name="item"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/", node, name="node"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/decide/<slug:key>/", decision, name="decision"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/recheck/", recheck, name="recheck"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/items/<slug:item>/", node_item, name="node_item"),
    path("status", status, name="status"),
]
