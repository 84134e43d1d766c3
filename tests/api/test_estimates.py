"""Estimates over REST, with an operator's token."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from checks.models import CostScenario, Estimate, LedgerEntry, TokenKind
from checks.services.price_books import load_book
from tests.domain.cost.pricing import SHIPPED
from tests.lab import NOON, bearer, healthy_node, lab
from tests.runs import a_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

PLAN: dict[str, Any] = {
    "name": "twelve terabytes out",
    "scenario": {"gpus": 16, "days": 10, "checkpoint_gb": "120", "checkpoints_moved": 100, "route": "internet"},
}


class Caller:
    """A program with an operator's token of one cluster."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.cluster = lab()
        for name in ("gpu001", "gpu002", "gpu003"):
            healthy_node(self.cluster, name)
        a_run(self.cluster, "gpu[001-003]")
        load_book(book=SHIPPED["aws"], confirmed=False, by=None, now=NOON)
        self.headers = bearer(TokenKind.OPERATOR, self.cluster)

    def freeze(self, **changes: Any) -> Any:
        return self.client.post(
            "/api/v1/runs/run-7/estimates", PLAN | changes, content_type="application/json", headers=self.headers
        )

    def read(self, path: str) -> Any:
        return self.client.get(f"/api/v1/{path}", headers=self.headers)

    def bill(self, number: int, text: str, file: str = "bill.csv") -> Any:
        address = f"/api/v1/estimates/{number}/actuals?file={file}"
        return self.client.post(address, text, content_type="text/csv", headers=self.headers)


@pytest.fixture
def caller(client: Client) -> Caller:
    return Caller(client)


def test_a_frozen_estimate_shows_its_lines_with_formula_inputs_and_prices(caller: Caller) -> None:
    made = caller.freeze()

    assert made.status_code == 201
    (egress,) = (line for line in made.json()["estimate"]["lines"] if line["key"] == "egress")
    assert Decimal(egress["amount"]["expected"]) == Decimal("1062.20")
    assert egress["formula"].startswith("sum over tiers")
    first = made.json()["estimate"]["prices"][egress["prices"][1]]
    assert (first["amount"], first["as_of"], first["verified"]) == ("0.09", "2026-03-01", "yes")


def test_what_was_frozen_is_read_back_and_listed(caller: Caller) -> None:
    made = caller.freeze().json()
    read = caller.read(f"estimates/{made['number']}").json()

    assert read["estimate"] == made["estimate"]
    assert read["comparison"] is None
    assert [one["number"] for one in caller.read("runs/run-7/estimates").json()["estimates"]] == [made["number"]]


def test_the_ledger_names_the_token(caller: Caller) -> None:
    caller.freeze()

    key = Estimate.objects.get().token
    assert key
    assert LedgerEntry.objects.get(what="estimate_frozen").data["token"] == key


@pytest.mark.parametrize(
    ("scenario", "code", "said"),
    [
        ({"gpus": 0, "days": 1}, "impossible_input", "gpus is 0"),
        ({"gpus": 8, "days": 1, "checkpoint_gb": -1}, "impossible_input", "checkpoint_gb is -1"),
        ({"gpus": 8, "days": 1, "spot_share": 1, "spot_price": 9}, "impossible_input", "dearer than on-demand"),
        ({"gpus": 1_048_576, "days": 1}, "impossible_input", "would never train"),
        ({"gpus": 8, "days": 1, "region": "moon-1"}, "price_missing", "moon-1"),
    ],
)
def test_a_scenario_that_cannot_be_gets_a_sentence_and_leaves_nothing(
    caller: Caller, scenario: dict[str, Any], code: str, said: str
) -> None:
    refused = caller.freeze(scenario=scenario)

    assert (refused.status_code, refused.json()["code"]) == (422, code)
    assert said in refused.json()["detail"]
    assert not CostScenario.objects.exists()


def test_a_provider_without_prices_is_told(caller: Caller) -> None:
    refused = caller.freeze(provider="gcp")

    assert (refused.status_code, refused.json()["code"]) == (404, "no_prices")


def test_a_bill_is_compared_with_the_estimate(caller: Caller) -> None:
    made = caller.freeze().json()
    egress = caller.bill(made["number"], "cause,amount\ncompute,27000\negress,1593.30\n")

    assert egress.status_code == 201
    found = {one["cause"]: one for one in egress.json()["comparison"]["causes"]}
    assert (found["egress"]["over_percent"], found["egress"]["level"]) == ("50.0", "red")
    assert caller.read(f"estimates/{made['number']}").json()["comparison"] == egress.json()["comparison"]


@pytest.mark.parametrize("text", ["no bill", "cause,amount\nlunch,5\n", "cause,amount\ncompute,1\n"])
def test_what_is_no_bill_of_the_run_is_refused(caller: Caller, text: str) -> None:
    refused = caller.bill(caller.freeze().json()["number"], text)

    assert (refused.status_code, refused.json()["code"]) == (422, "bill_unreadable")


def test_another_clusters_token_finds_nothing(caller: Caller, client: Client) -> None:
    number = caller.freeze().json()["number"]
    caller.headers = bearer(TokenKind.OPERATOR, lab("elsewhere"))

    assert caller.read(f"estimates/{number}").json()["code"] == "no_such_estimate"
    assert caller.bill(number, "cause,amount\ncompute,1\n").status_code == 404
    assert caller.freeze().status_code == 404


def test_a_gate_token_reads_no_estimate(caller: Caller) -> None:
    caller.headers = bearer(TokenKind.GATE, caller.cluster)

    assert caller.read("runs/run-7/estimates").status_code == 403
