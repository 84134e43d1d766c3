"""Drift of a cluster and the outlook of a run, as programs read them."""

from datetime import timedelta

import pytest
from django.test import Client

from checks.models import TokenKind
from tests.fleet import Fleet, make_fleet
from tests.lab import NOON, bearer
from tests.runs import a_run
from tests.settings_sent import RMEM, tell

HOUR = timedelta(hours=1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet() -> Fleet:
    """Three nodes, one of which has no such setting."""
    fleet = make_fleet(at=NOON - HOUR)
    for name in ("gpu001", "gpu002", "gpu003"):
        node = fleet.enrol(name, at=NOON - HOUR)
        tell(node, {"sysctl:a.b": "1"} | ({RMEM: "5"} if name != "gpu003" else {}), at=NOON)
    return fleet


def test_odd_ones_out_are_told_with_what_most_have(client: Client, fleet: Fleet) -> None:
    answer = client.get("/api/v1/clusters/helios/drift", headers=bearer(TokenKind.OPERATOR, fleet.cluster))

    assert answer.status_code == 200
    told = answer.json()
    assert (told["nodes"], told["of_nodes"], told["equal"], told["noise"]) == (3, 3, 1, 0)
    assert told["settings"] == [
        {"setting": RMEM, "usual": "5", "known": 3, "differ": 1, "others": [{"value": None, "nodes": ["gpu003"]}]}
    ]


def test_a_runs_outlook_has_its_own_range(client: Client, fleet: Fleet) -> None:
    a_run(fleet.cluster, "gpu001", nodes_needed=1)

    told = client.get("/api/v1/runs/run-7/forecast", headers=bearer(TokenKind.OPERATOR, fleet.cluster)).json()

    assert (told["own"]["failures"], told["own"]["node_days"]) == (0, 0)
    assert round(told["own"]["mean"]["per_1000_node_days"], 6) == 6.5
    assert told["own"]["low"]["interruptions"] < told["own"]["high"]["interruptions"]
