"""Addresses of the pages."""

from django.urls import path

from portal.ui.views import incident as one
from portal.ui.views import incident_actions as actions
from portal.ui.views import incidents as many
from portal.ui.views import learning
from portal.ui.views.attest import attested_file, state_result
from portal.ui.views.board import board
from portal.ui.views.certificate import certificate, record, record_pdf, verifier
from portal.ui.views.cluster import cluster, cluster_csv, clusters
from portal.ui.views.cluster_price import set_price
from portal.ui.views.cost_pages import article, article_csv, rates
from portal.ui.views.costs import costs, costs_csv, curve_csv, prices
from portal.ui.views.decision import decision
from portal.ui.views.delegations import delegations, end_given
from portal.ui.views.drift import accept_setting, drift, drift_csv, end_setting, make_setting
from portal.ui.views.enrol import enrol, revoke_enrolment
from portal.ui.views.estimates import estimate, estimate_csv, keep_estimate, read_bill_in
from portal.ui.views.evidence import add_evidence, tool_output
from portal.ui.views.history import run_history
from portal.ui.views.item import item, node_item
from portal.ui.views.node import node, recheck
from portal.ui.views.overrides import close_again, open_by_force
from portal.ui.views.policy import approve, policy, propose
from portal.ui.views.run import change_stage, run
from portal.ui.views.runs import change_run, plan_run, preview_pool, runs
from portal.ui.views.sign import revoke, sign
from portal.ui.views.starts import tell_replacement, tell_restart, tell_start
from portal.ui.views.status import status
from portal.ui.views.waivers import agree, end_waived, waive

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
    path("clusters/<slug:slug>/price/", set_price, name="price_cluster"),
    path("clusters/<slug:slug>/incidents/new/", one.open_new, name="open_incident"),
    path("clusters/<slug:slug>/policy/", policy, name="policy"),
    path("clusters/<slug:slug>/policy/propose/", propose, name="propose_policy"),
    path("clusters/<slug:slug>/policy/<int:number>/approve/", approve, name="approve_policy"),
    path("clusters/<slug:slug>/delegations/", delegations, name="delegations"),
    path("clusters/<slug:slug>/delegations/<int:number>/end/", end_given, name="end_delegation"),
    path("clusters/<slug:slug>/items/<slug:item>/state/", state_result, name="attest"),
    path("clusters/<slug:slug>/evidence/<slug:digest>", attested_file, name="attested_file"),
    path("clusters/<slug:slug>/items/<slug:item>/", item, name="item"),
    path("clusters/<slug:slug>/items/<slug:item>/back-test/", learning.back_test, name="back_test"),
    path("clusters/<slug:slug>/items/<slug:item>/back-test.csv", learning.back_test_csv, name="back_test_csv"),
    path("clusters/<slug:slug>/items/<slug:item>/propose/", learning.propose, name="propose_threshold"),
    path("clusters/<slug:slug>/thresholds/<int:number>/accept/", learning.accept, name="accept_threshold"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/", node, name="node"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/decide/<slug:key>/", decision, name="decision"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/recheck/", recheck, name="recheck"),
    path("clusters/<slug:slug>/nodes/<str:hostname>/evidence/", add_evidence, name="add_evidence"),
    path(
        "clusters/<slug:slug>/nodes/<str:hostname>/evidence/<uuid:evidence_id>/output", tool_output, name="tool_output"
    ),
    path("clusters/<slug:slug>/nodes/<str:hostname>/items/<slug:item>/", node_item, name="node_item"),
    path("clusters/<slug:slug>/settings/", make_setting, name="make_setting"),
    path("clusters/<slug:slug>/settings/<int:number>/accept/", accept_setting, name="accept_setting"),
    path("clusters/<slug:slug>/settings/<int:number>/end/", end_setting, name="end_setting"),
    path("drift/", drift, name="drift"),
    path("drift/settings.csv", drift_csv, name="drift_csv"),
    path("costs/", costs, name="costs"),
    path("costs/lines.csv", costs_csv, name="costs_csv"),
    path("costs/curve.csv", curve_csv, name="costs_curve"),
    path("costs/article/", article, name="cost_article"),
    path("costs/article.csv", article_csv, name="cost_article_csv"),
    path("costs/prices/", prices, name="prices"),
    path("costs/rates/", rates, name="rates"),
    path("costs/estimates/<int:number>/", estimate, name="estimate"),
    path("costs/estimates/<int:number>/lines.csv", estimate_csv, name="estimate_csv"),
    path("costs/estimates/<int:number>/bill/", read_bill_in, name="read_bill"),
    path("incidents/", many.incidents, name="incidents"),
    path("incidents/incidents.csv", many.incidents_csv, name="incidents_csv"),
    path("incidents/blind-spots/", many.blind, name="blind_spots"),
    path("incidents/lemons/", many.lemons, name="lemons"),
    path("incidents/known/", many.known, name="known_incidents"),
    path("incidents/<int:number>/", one.incident, name="incident"),
    path("incidents/<int:number>/change/", one.change_incident, name="change_incident"),
    path("incidents/<int:number>/note/", one.note, name="note_on_incident"),
    path("incidents/<int:number>/to/<slug:to>/", one.move, name="move_incident"),
    path("incidents/<int:number>/link/", one.link, name="link_item"),
    path("incidents/<int:number>/merge/", one.merge, name="merge_incident"),
    path("incidents/<int:number>/attach/", one.attach, name="attach_files"),
    path("incidents/<int:number>/files/<slug:digest>", one.incident_file, name="incident_file"),
    path("incidents/<int:number>/actions/new/", actions.propose, name="propose_action"),
    path("incidents/<int:number>/actions/<int:action>/<slug:to>/", actions.move, name="move_action"),
    path("runs/", runs, name="runs"),
    path("runs/verify_certificate.py", verifier, name="verifier"),
    path("runs/<slug:slug>/", run, name="run"),
    path("runs/<slug:slug>/change/", change_run, name="change_run"),
    path("runs/<slug:slug>/stage/", change_stage, name="move_stage"),
    path("runs/<slug:slug>/estimates/new/", keep_estimate, name="keep_estimate"),
    path("runs/<slug:slug>/started/", tell_start, name="tell_start"),
    path("runs/<slug:slug>/restarted/", tell_restart, name="tell_restart"),
    path("runs/<slug:slug>/replaced/", tell_replacement, name="tell_replacement"),
    path("runs/<slug:slug>/history/", run_history, name="run_history"),
    path("runs/<slug:slug>/sign/<slug:layer>/", sign, name="sign"),
    path("runs/<slug:slug>/signatures/<int:number>/revoke/", revoke, name="revoke"),
    path("runs/<slug:slug>/record/", record, name="record"),
    path("runs/<slug:slug>/record.pdf", record_pdf, name="record_pdf"),
    path("runs/<slug:slug>/certificate.json", certificate, name="certificate"),
    path("runs/<slug:slug>/override/", open_by_force, name="force_open"),
    path("runs/<slug:slug>/overrides/<int:number>/end/", close_again, name="end_override"),
    path("runs/<slug:slug>/waivers/new/", waive, name="waive"),
    path("runs/<slug:slug>/waivers/<int:number>/agree/", agree, name="approve_waiver"),
    path("runs/<slug:slug>/waivers/<int:number>/end/", end_waived, name="end_waiver"),
    path("status", status, name="status"),
]
