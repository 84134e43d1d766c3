"""Addresses of the pages."""

from django.urls import path

from portal.ui.views.board import board
from portal.ui.views.cluster import cluster, cluster_csv, clusters
from portal.ui.views.delegations import delegations, end_given
from portal.ui.views.enrol import enrol, revoke_enrolment
from portal.ui.views.item import item, node_item
from portal.ui.views.node import node, recheck
from portal.ui.views.policy import approve, policy, propose
from portal.ui.views.run import run
from portal.ui.views.runs import change_run, plan_run, preview_pool, runs
from portal.ui.views.status import status

app_name = "ui"
urlpatterns = [
    path("", board, name="board"),
    path("clusters/", clusters, name="clusters"),
    path("clusters/<slug:slug>/", cluster, name="cluster"),
    path("clusters/<slug:slug>/nodes.csv", cluster_csv, name="cluster_csv"),
    path("clusters/<slug:slug>/enrol/", enrol, name="enrol"),
    path("clusters/<slug:slug>/enrol/<slug:key>/revoke/", revoke_enrolment, name="revoke_enrolment"),
    path("clusters/<slug:slug>/runs/new/", plan_run, name="plan_run"),
    path("clusters/<slug:slug>/runs/preview/", preview_pool, name="preview_pool"),
    path("clusters/<slug:slug>/policy/", policy, name="policy"),
    path("clusters/<slug:slug>/policy/propose/", propose, name="propose_policy"),
    path("clusters/<slug:slug>/policy/<int:number>/approve/", approve, name="approve_policy"),
    path("clusters/<slug:slug>/delegations/", delegations, name="delegations"),
    path("clusters/<slug:slug>/delegations/<int:number>/end/", end_given, name="end_delegation"),
    path("clusters/<slug:slug>/items/<slug:item>/", item, name="item"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/", node, name="node"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/recheck/", recheck, name="recheck"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/items/<slug:item>/", node_item, name="node_item"),
    path("runs/", runs, name="runs"),
    path("runs/<slug:slug>/", run, name="run"),
    path("runs/<slug:slug>/change/", change_run, name="change_run"),
    path("status", status, name="status"),
]
