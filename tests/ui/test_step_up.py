"""Nobody puts their name to anything without having proved, in the last five minutes, that it is them."""

from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from checks.models import PolicyVersion, Role
from portal.accounts.models import User
from tests.fleet import PASSWORD, Fleet, person
from tests.ui.conftest import seen_by

PROPOSE = "/clusters/helios/policy/propose/"
PROVE = "/accounts/reauthenticate/"
FORM = {
    "physical_roles": ["hardware", "platform"], "physical_hours": "48", "system_roles": ["platform"],
    "system_hours": "168", "framework_roles": ["platform", "lead"], "framework_hours": "",
    "data_roles": ["data", "lead"], "data_hours": "", "operations_roles": ["lead"], "operations_hours": "",
    "reason": "shorter shifts",
}  # fmt: skip


@pytest.fixture
def quill(fleet: Fleet) -> User:
    """The lead of helios."""
    return person("quill", fleet.cluster, Role.LEAD, display_name="Quill")


def prove(client: Client, path: str, password: str = PASSWORD) -> int:
    """Type the password where the site asks for it, and be sent back to *path*."""
    return client.post(PROVE, {"password": password, "next": path}).status_code


def test_a_form_without_a_proof_waits_and_is_taken_as_it_was_sent(quill: User) -> None:
    client = seen_by(quill).client
    asked = client.post(PROPOSE, FORM)
    assert unquote(asked.headers["Location"]) == f"{PROVE}?next={PROPOSE}"
    assert not PolicyVersion.objects.exists()
    assert prove(client, PROPOSE) == 302
    stored = PolicyVersion.objects.get()
    assert stored.document["layers"]["physical"]["expires_after_h"] == 48
    assert stored.reason == "shorter shifts"


def test_a_wrong_password_does_nothing(quill: User) -> None:
    client = seen_by(quill).client
    client.post(PROPOSE, FORM)
    assert prove(client, PROPOSE, "something else entirely") == 200
    assert not PolicyVersion.objects.exists()


def test_having_just_signed_in_is_no_proof(quill: User) -> None:
    client = Client()
    client.post("/accounts/login/", {"login": "quill", "password": PASSWORD})
    assert client.post(PROPOSE, FORM).status_code == 302
    assert not PolicyVersion.objects.exists()


def test_a_proof_counts_for_five_minutes_and_not_a_second_longer(quill: User) -> None:
    client = seen_by(quill).client
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        prove(client, PROPOSE)
        clock.shift(timedelta(minutes=5))
        client.post(PROPOSE, FORM)
        assert PolicyVersion.objects.count() == 1
        clock.shift(timedelta(seconds=1))
        assert client.post(PROPOSE, FORM).headers["Location"].startswith(PROVE)
    assert PolicyVersion.objects.count() == 1


def test_a_form_that_was_left_waiting_is_dropped_when_its_page_is_opened_again(quill: User) -> None:
    client = seen_by(quill).client
    client.post(PROPOSE, FORM)
    client.get(PROPOSE)
    prove(client, PROPOSE)
    assert not PolicyVersion.objects.exists()


def test_a_proof_of_one_session_is_none_of_another(quill: User) -> None:
    prove(seen_by(quill).client, PROPOSE)
    assert seen_by(quill).client.post(PROPOSE, FORM).status_code == 302
    assert not PolicyVersion.objects.exists()


def test_an_account_that_has_nothing_to_prove_itself_with_is_told_so(quill: User) -> None:
    quill.set_unusable_password()
    quill.save()
    response = seen_by(quill).client.post(PROPOSE, FORM)
    assert response.status_code == 403
    assert "neither a password nor a second factor" in response.content.decode()


def test_the_page_that_asks_says_what_it_is_for(quill: User) -> None:
    page = seen_by(quill).text(reverse("account_reauthenticate"), next=PROPOSE)
    assert "Prove that it is you" in page
    assert "Password of Quill" in page
    assert f'value="{PROPOSE}"' in page
