"""Liveness and readiness of the portal itself, as a load balancer asks for them."""

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.utils import timezone


def test_a_live_process_says_so_without_looking_at_the_database(client: Client) -> None:
    answer = client.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"alive": True})


@pytest.mark.django_db
def test_a_migrated_database_with_partitions_ahead_is_ready(client: Client) -> None:
    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"ready": True, "database": True, "migrations": True, "partitions": True}
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_partitions_that_end_within_two_days_take_the_portal_out_of_service(client: Client) -> None:
    with time_machine.travel(timezone.now() + timedelta(days=13, hours=1)):
        answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["partitions"]) == (503, False)


@pytest.mark.django_db(transaction=True)
def test_a_schema_older_than_the_code_is_not_ready(
    client: Client, connect_as: Callable[[str], psycopg.Connection]
) -> None:
    with connect_as("owner") as owner:
        owner.execute("DELETE FROM django_migrations WHERE app = 'checks' AND name = '0001_initial'")
        owner.commit()

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["migrations"]) == (503, False)


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_told_as_json_and_never_as_a_page(client: Client) -> None:
    connection.close()
    host = connection.settings_dict["HOST"]
    connection.settings_dict["HOST"] = "/nowhere"
    try:
        answer = client.get("/readyz")
    finally:
        connection.settings_dict["HOST"] = host

    assert (answer.status_code, answer.json()) == (503, {"ready": False, "database": False})
