"""The gate as a scheduler asks it, over HTTP, against real rows: what is ready, what is not, what cannot be told."""

from datetime import timedelta
from io import StringIO
from typing import Any

import jsonschema
import pytest
from django.core.management import call_command
from django.test import Client

from checks.models import BreakerTrip, Cluster, Heartbeat, Node, NodeReadiness, TokenKind
from tests.api.gate_lab import SCHEMA, Gate, codes
from tests.lab import HOUR, MINUTE, NOON, SECOND, bad_row, bearer, firmware, healthy_node, lab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

ECC_VALUE = {"facts": {"volatile_uncorrectable": 2, "ecc_enabled": True}}


def test_healthy_nodes_are_ready_until_the_first_evidence_ends_or_five_minutes(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster, "gpu001")
    healthy_node(cluster, "gpu002")

    body = Gate(client, cluster).ask(nodes="gpu[001-002]")

    assert (body["decision"], body["ready"], body["purpose"], body["basis"]) == ("ready", True, "health", "checks")
    assert body["nodes"] == {"asked": 2, "ready": 2, "not_ready_nodes": "", "unknown_nodes": ""}
    assert (body["expires_at"], body["ttl_s"]) == ("2026-11-30T12:05:00+00:00", 300)


def test_one_failing_blocker_stops_the_set_and_says_what_was_measured_and_who_cures_it(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster, "gpu001")
    bad_row(healthy_node(cluster, "gpu002"), "gpu-ecc", subject="gpu4", value=ECC_VALUE)

    body = Gate(client, cluster).ask(nodes="gpu[001-002]")

    assert (body["decision"], body["nodes"]["ready"], body["nodes"]["not_ready_nodes"]) == ("not_ready", 1, "gpu002")
    (reason,) = body["reasons"]
    assert (reason["node"], reason["subject"], reason["item"], reason["layer"]) == (
        "gpu002",
        "gpu4",
        "gpu-ecc",
        "physical",
    )
    assert (reason["verdict"], reason["code"], reason["value"], reason["threshold"]) == ("fail", "criterion", 2, 0)
    assert (reason["age_s"], reason["owner"]) == (60, "hardware")


def test_a_row_that_could_not_be_measured_makes_the_node_unknown_and_says_why(client: Client) -> None:
    cluster = lab()
    bad_row(healthy_node(cluster), "clock-sync", raw="unknown", reason="hung", detail="chronyc did not answer in 5 s")

    body = Gate(client, cluster).ask()

    assert (body["decision"], codes(body)) == ("unknown", ["hung"])
    assert body["reasons"][0]["value"] == "chronyc did not answer in 5 s"


def test_fifteen_minutes_and_one_second_after_the_report_the_answer_is_unknown_though_nothing_was_written(
    client: Client, at_noon: Any
) -> None:
    cluster = lab()
    healthy_node(cluster)  # measured at 11:59
    gate = Gate(client, cluster)
    fresh = gate.get()

    at_noon.move_to(NOON + 14 * MINUTE)
    assert gate.ask()["decision"] == "ready"

    at_noon.move_to(NOON + 14 * MINUTE + SECOND)
    ended = gate.get()
    assert (ended.json()["decision"], codes(ended.json())) == ("unknown", ["stale"])
    assert ended["ETag"] != fresh["ETag"]


def test_an_old_tag_is_good_for_304_only_while_the_answer_holds(client: Client, at_noon: Any) -> None:
    cluster = lab()
    healthy_node(cluster)
    gate = Gate(client, cluster)
    etag = gate.get()["ETag"]

    at_noon.move_to(NOON + 13 * MINUTE)
    unchanged = gate.get(etag=etag)
    assert (unchanged.status_code, unchanged.content, unchanged["Gate-TTL"]) == (304, b"", "60")
    assert unchanged["Cache-Control"] == "private, no-cache"

    at_noon.move_to(NOON + 14 * MINUTE + SECOND)
    changed = gate.get(etag=etag)
    assert (changed.status_code, changed.json()["decision"]) == (200, "unknown")


def test_the_lifetime_never_outlives_the_first_evidence_to_end(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster, "gpu001")
    healthy_node(cluster, "gpu002", tick_until=NOON + 90 * SECOND)

    response = Gate(client, cluster).get()

    assert (response["Gate-TTL"], response.json()["ttl_s"]) == ("90", 90)


def test_a_failure_on_ended_evidence_is_stale_and_no_failure(client: Client) -> None:
    cluster = lab()
    node = healthy_node(cluster, tick_until=NOON - SECOND)
    bad_row(node, "gpu-ecc", subject="gpu0", value=ECC_VALUE, observed_at=NOON - 16 * MINUTE)

    body = Gate(client, cluster).ask()

    assert body["decision"] == "unknown"
    assert {reason["verdict"] for reason in body["reasons"]} == {"stale"}


def test_a_failure_that_a_full_report_found_unchanged_is_as_young_as_that_report(client: Client) -> None:
    cluster = lab()
    node = healthy_node(cluster, tick_at=NOON - MINUTE)
    bad_row(node, "gpu-ecc", subject="gpu0", value=ECC_VALUE, observed_at=NOON - 9 * MINUTE)

    assert [reason["age_s"] for reason in Gate(client, cluster).ask()["reasons"]] == [60]


def test_a_failure_measured_again_by_itself_fails_though_its_nodes_tick_has_ended(client: Client) -> None:
    cluster = lab()
    node = healthy_node(cluster, tick_until=NOON - SECOND)
    bad_row(node, "gpu-ecc", subject="gpu0", value=ECC_VALUE, observed_at=NOON - MINUTE)

    assert Gate(client, cluster).ask()["decision"] == "not_ready"


def test_a_host_that_nobody_enrolled_is_named_and_nothing_is_ready(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster, "gpu001")

    body = Gate(client, cluster).ask(nodes="gpu[001-003]")

    assert (body["decision"], body["nodes"]["unknown_nodes"]) == ("unknown", "gpu[002-003]")
    assert codes(body) == ["unknown_node", "unknown_node"]


def test_a_retired_node_is_like_one_that_was_never_there(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster, "gpu001")
    Node.objects.update(retired_at=NOON - HOUR)

    assert Gate(client, cluster).ask(nodes="gpu001")["nodes"]["unknown_nodes"] == "gpu001"
    assert codes(Gate(client, cluster).ask()) == ["no_nodes"]


def test_asking_about_no_node_is_unknown(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster)

    body = Gate(client, cluster).ask(nodes="")

    assert (body["decision"], body["nodes"]["asked"], codes(body)) == ("unknown", 0, ["no_nodes"])


def test_host_names_are_found_however_their_letters_are_written(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster, "gpu001")

    assert Gate(client, cluster).ask(nodes="GPU001")["decision"] == "ready"


@pytest.mark.parametrize("purpose", ["start", "restart"])
def test_a_start_without_its_run_is_unknown_on_the_best_of_nodes(client: Client, purpose: str) -> None:
    cluster = lab()
    healthy_node(cluster)

    body = Gate(client, cluster).ask(purpose=purpose)

    assert (body["decision"], codes(body)) == ("unknown", ["run_required"])


def test_health_is_called_a_launch_answer_only_where_the_cluster_says_so(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster)
    gate = Gate(client, cluster)
    told = [gate.ask()["next_action"]]
    call_command("cluster", "set", cluster.slug, "--health-serves-as-launch", stdout=StringIO())
    told.append(gate.ask()["next_action"])

    assert told[0].endswith("before a run starts on them, name it and ask for purpose=start.")
    assert told[1] == "Start the job on these nodes: in this cluster their health is enough."
    assert codes(gate.ask(purpose="start")) == ["run_required"]


@pytest.mark.parametrize("purpose", ["health", "start", "restart"])
def test_a_run_that_the_cluster_does_not_have_is_not_found(client: Client, purpose: str) -> None:
    response = Gate(client, lab()).get(run="llm-70b", purpose=purpose)

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_node_judged_by_other_rules_is_unknown_until_it_is_judged_again(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster, judged_under="rules of yesterday")

    assert codes(Gate(client, cluster).ask()) == ["rejudging"]


def test_a_node_whose_hardware_changed_is_unknown(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster)
    Node.objects.update(trouble="hardware_changed")

    assert codes(Gate(client, cluster).ask()) == ["hardware_changed"]


def test_a_trouble_that_this_code_does_not_know_is_no_reason_to_believe_the_node(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster)
    Node.objects.update(trouble="of a later release")

    assert Gate(client, cluster).ask()["decision"] == "unknown"


def test_a_layer_of_which_nothing_passed_proves_nothing(client: Client) -> None:
    cluster = lab()
    healthy_node(cluster, health_pass_system=0)

    body = Gate(client, cluster).ask()

    assert (body["decision"], codes(body), body["reasons"][0]["layer"]) == ("unknown", ["nothing_proved"], "system")


def test_an_enrolled_node_without_any_row_is_not_ready_to_be_believed(client: Client) -> None:
    cluster = lab()
    Node.objects.create(cluster=cluster, hostname="gpu001", enrolled_at=NOON)

    assert Gate(client, cluster).ask()["decision"] == "unknown"


def test_a_hundred_reasons_are_shown_and_all_are_counted(client: Client) -> None:
    cluster = lab()
    for number in range(15):
        node = healthy_node(cluster, f"gpu{number:03d}")
        for gpu in range(8):
            bad_row(node, "gpu-ecc", subject=f"gpu{gpu}", value=ECC_VALUE)

    body = Gate(client, cluster).ask()

    assert (len(body["reasons"]), body["reasons_total"]) == (100, 120)
    assert (body["nodes"]["ready"], body["nodes"]["not_ready_nodes"]) == (0, "gpu[000-014]")


def test_a_check_under_a_circuit_breaker_still_stops_and_is_called_suspect(client: Client) -> None:
    cluster = lab()
    bad_row(healthy_node(cluster), "sysctl-somaxconn")
    BreakerTrip.objects.create(
        cluster=cluster, item="sysctl-somaxconn", tripped_at=NOON, last_flip_at=NOON, nodes=4, of_nodes=4
    )  # fmt: skip

    body = Gate(client, cluster).ask()

    assert (body["decision"], codes(body)) == ("not_ready", ["suspect_check"])


def test_a_breaker_is_over_thirty_minutes_after_its_last_flip_though_no_task_closed_it(client: Client) -> None:
    cluster = lab()
    bad_row(healthy_node(cluster), "sysctl-somaxconn")
    BreakerTrip.objects.create(
        cluster=cluster, item="sysctl-somaxconn", tripped_at=NOON - HOUR, last_flip_at=NOON - 30 * MINUTE, nodes=4,
        of_nodes=4,
    )  # fmt: skip

    assert codes(Gate(client, cluster).ask()) == ["criterion"]


def test_a_long_list_by_post_gets_the_same_answer(client: Client) -> None:
    cluster = lab()
    for number in (1, 2):
        healthy_node(cluster, f"gpu00{number}")
    gate = Gate(client, cluster)

    posted = client.post(
        gate.address, {"nodes": "gpu001,gpu002"}, content_type="application/json", headers=gate.headers
    )

    assert posted.json() == gate.ask(nodes="gpu[001-002]")


def test_answering_takes_two_statements_for_one_node_and_for_many(
    client: Client, django_assert_num_queries: Any
) -> None:
    cluster = lab()
    for number in range(64):
        node = healthy_node(cluster, f"gpu{number:03d}")
        firmware(node, "96.00.89.00.01")
    bad_row(node, "gpu-ecc", subject="gpu0", value=ECC_VALUE)
    gate = Gate(client, cluster)
    gate.ask()  # this process now has the rules

    for nodes in ("gpu000", "gpu[000-063]"):
        with django_assert_num_queries(2):
            gate.ask(nodes=nodes)


class TestOneNode:
    """``GET …/nodes/{host}/readiness``: the same answer, and whether a scheduler may drain the node for it."""

    def ask(self, client: Client, cluster: Cluster) -> dict[str, Any]:
        address = f"/api/v1/clusters/{cluster.slug}/nodes/gpu001/readiness"
        body = client.get(address, headers=bearer(TokenKind.GATE, cluster)).json()
        jsonschema.validate(body, SCHEMA)
        return body

    def broken(self, *, since: timedelta = 11 * MINUTE, item: str = "gpu-ecc", swept: timedelta = MINUTE) -> Cluster:
        """A cluster whose one node has failed for *since*, swept that long ago."""
        cluster = lab()
        bad_row(healthy_node(cluster), item, subject="gpu0", value=ECC_VALUE, since=NOON - since)
        Heartbeat.objects.create(name="sweep", at=NOON - swept)
        return cluster

    def test_broken_hardware_for_more_than_two_minutes_may_be_drained(self, client: Client) -> None:
        body = self.ask(client, self.broken())

        assert (body["decision"], body["drain_allowed"]) == ("not_ready", True)

    def test_a_healthy_node_may_not(self, client: Client) -> None:
        cluster = lab()
        healthy_node(cluster)
        Heartbeat.objects.create(name="sweep", at=NOON)

        assert self.ask(client, cluster)["drain_allowed"] is False

    def test_a_failure_of_two_minutes_may_not_yet(self, client: Client) -> None:
        assert self.ask(client, self.broken(since=2 * MINUTE))["drain_allowed"] is False

    def test_a_setting_that_an_administrator_cures_is_no_reason(self, client: Client) -> None:
        assert self.ask(client, self.broken(item="sysctl-somaxconn"))["drain_allowed"] is False

    def test_a_portal_whose_sweep_is_silent_lets_nobody_drain(self, client: Client) -> None:
        assert self.ask(client, self.broken(swept=2 * MINUTE))["drain_allowed"] is False

    def test_a_node_whose_evidence_has_ended_may_not(self, client: Client) -> None:
        cluster = self.broken()
        NodeReadiness.objects.update(tick_until=NOON - SECOND)
        Node.objects.get().states.update(observed_at=NOON - HOUR)

        assert self.ask(client, cluster)["drain_allowed"] is False

    def test_an_open_breaker_holds_every_drain_of_its_cluster(self, client: Client) -> None:
        cluster = self.broken()
        BreakerTrip.objects.create(
            cluster=cluster, item="gpu-temperature", tripped_at=NOON, last_flip_at=NOON, nodes=4, of_nodes=4
        )

        assert self.ask(client, cluster)["drain_allowed"] is False
