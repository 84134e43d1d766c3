"""The first data of an evaluation."""

from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.utils import timezone

from checks.models import Cluster, Token
from portal.quickstart.first_run import make_first_data


@pytest.fixture
def first_data(db: None) -> dict[str, Any]:
    call_command("catalog", "load", "--yes", verbosity=0)
    return make_first_data(now=timezone.now())


def test_the_printed_password_signs_in(first_data: dict[str, Any]) -> None:
    assert authenticate(username=first_data["username"], password=first_data["password"]) is not None


def test_both_clusters_take_replayed_captures(first_data: dict[str, Any]) -> None:
    assert set(Cluster.objects.filter(accept_replay=True).values_list("slug", flat=True)) == {"local", "example"}


def test_the_gate_token_asks_about_both_clusters(first_data: dict[str, Any]) -> None:
    token = Token.objects.get(key=first_data["gate_token"].split("_")[2])
    assert set(token.clusters.values_list("slug", flat=True)) == {"local", "example"}


def test_an_enrolment_token_is_of_one_cluster(first_data: dict[str, Any]) -> None:
    token = Token.objects.get(key=first_data["enrolment_token"].split("_")[2])
    assert token.cluster is not None
    assert token.cluster.slug == first_data["cluster"] == "local"


def test_lost_notes_are_made_again_without_a_second_cluster(first_data: dict[str, Any]) -> None:
    again = make_first_data(now=timezone.now())
    assert Cluster.objects.count() == 2
    assert authenticate(username=again["username"], password=again["password"]) is not None
    assert authenticate(username=first_data["username"], password=first_data["password"]) is None
