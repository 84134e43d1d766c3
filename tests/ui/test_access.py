"""Who sees what: a stranger's cluster does not exist, a role that may not is told so."""

from django.test import Client

from checks.models import ClusterPrice, RecheckRequest, Role
from portal.accounts.models import User
from tests.fleet import Fleet, make_fleet, person
from tests.ui.conftest import seen_by

PAGES = (
    "/clusters/helios/",
    "/clusters/helios/nodes.csv",
    "/clusters/helios/nodes/gpu-001/",
    "/clusters/helios/nodes/gpu-003/items/gpu-pcie-width/",
    "/clusters/helios/items/gpu-pcie-width/",
    "/drift/?a=helios",
    "/drift/?a=helios&node=gpu-001",
    "/drift/settings.csv?a=helios",
)
RECHECK = "/clusters/helios/nodes/gpu-001/recheck/"
ENROL = "/clusters/helios/enrol/"
EVIDENCE = "/clusters/helios/nodes/gpu-001/evidence/"
OUTPUT = f"{EVIDENCE}00000000-0000-4000-8000-000000000000/output"
PRICE = "/clusters/helios/price/"


def test_nobody_sees_a_page_without_signing_in(fleet: Fleet) -> None:
    for path in ("/", "/clusters/", "/status", *PAGES, ENROL, PRICE, EVIDENCE, OUTPUT):
        response = Client().get(path)
        assert response.status_code == 302, path
        assert response.headers["Location"].startswith("/accounts/login/?next="), path


def test_a_cluster_of_strangers_looks_like_none_at_all(fleet: Fleet) -> None:
    omar = seen_by(person("omar")).client
    for path in (*PAGES, ENROL, PRICE, EVIDENCE, OUTPUT):
        absent = omar.get(path.replace("helios", "nowhere"))
        assert omar.get(path).status_code == absent.status_code == 404, path


def test_every_role_may_look(fleet: Fleet) -> None:
    for role in Role:
        client = seen_by(person(role.value, fleet.cluster, role)).client
        assert [client.get(path).status_code for path in PAGES] == [200] * len(PAGES), role


def test_whoever_works_on_machines_may_have_them_measured_again_and_a_viewer_may_not(fleet: Fleet) -> None:
    for role in Role:
        response = seen_by(person(role.value, fleet.cluster, role)).client.post(RECHECK, {"item": "gpu-pcie-width"})
        assert response.status_code == (403 if role is Role.VIEWER else 302), role
        assert RecheckRequest.objects.exists() == (role is not Role.VIEWER), role


def test_whoever_works_on_machines_may_bring_what_a_tool_measured_and_a_viewer_may_not(fleet: Fleet) -> None:
    for role in Role:
        client = seen_by(person(role.value, fleet.cluster, role)).client
        assert client.get(EVIDENCE).status_code == (403 if role is Role.VIEWER else 200), role
        assert client.get(OUTPUT).status_code == 404, role


def test_leads_and_administrators_bring_nodes_in_and_nobody_else(fleet: Fleet) -> None:
    for role in Role:
        status = seen_by(person(role.value, fleet.cluster, role)).client.get(ENROL).status_code
        assert status == (200 if role in (Role.LEAD, Role.ADMIN) else 403), role


def test_leads_and_administrators_price_a_gpu_hour_and_nobody_else(fleet: Fleet) -> None:
    for role in Role:
        client, may = seen_by(person(role.value, fleet.cluster, role)).client, role in (Role.LEAD, Role.ADMIN)
        assert client.get(PRICE).status_code == (200 if may else 403), role
        assert client.post(PRICE, {"amount": "2.10", "reason": "x"}).status_code == (302 if may else 403), role
    assert {price.by.username for price in ClusterPrice.objects.all()} == {"lead", "admin"}


def test_a_superuser_is_administrator_everywhere(fleet: Fleet) -> None:
    root = User.objects.create_superuser("root")
    assert seen_by(root).client.get(ENROL).status_code == 200
    assert "helios" in seen_by(root).text("/")


def test_a_role_in_one_cluster_opens_no_other(fleet: Fleet, hana: User) -> None:
    make_fleet("boreas", at=fleet.cluster.created_at, profile="8xh100")
    assert seen_by(hana).client.get("/clusters/boreas/").status_code == 404
    assert "boreas" not in seen_by(hana).text("/")


def test_a_re_check_needs_a_post(fleet: Fleet, hana: User) -> None:
    assert seen_by(hana).client.get(RECHECK).status_code == 405


def test_a_node_or_an_item_that_does_not_exist_is_not_found(fleet: Fleet, hana: User) -> None:
    sight = seen_by(hana)
    sight.text("/clusters/helios/nodes/gpu-999/", status=404)
    sight.text("/clusters/helios/items/no-such-item/", status=404)
    sight.text("/clusters/helios/nodes/gpu-001/items/no-such-item/", status=404)
    sight.text("/clusters/helios/nodes/gpu-001/items/gpu-pcie-width/", status=404, subject="gpu99")


def test_an_address_with_a_nul_is_a_bad_question(fleet: Fleet, hana: User) -> None:
    client = seen_by(hana).client
    for path in ("/clusters/helios/nodes/%00/", "/clusters/helios/?place=%00", "/?cluster=%00"):
        assert client.get(path).status_code == 400, path
