"""Nobody guesses for long, and nobody does things under a name faster than a person can."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from checks.models import Role
from portal.accounts.models import User
from tests.fleet import PASSWORD, Fleet, make_fleet, person
from tests.lab import NOON

pytestmark = pytest.mark.django_db
SIGN_IN = "/accounts/login/"
PROVE = "/accounts/reauthenticate/"
PROPOSE = "/clusters/helios/policy/propose/"


@pytest.fixture(autouse=True)
def _no_guesses_before() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def fleet(db: None) -> Fleet:
    return make_fleet(at=NOON)


@pytest.fixture
def quill(fleet: Fleet) -> User:
    return person("quill", fleet.cluster, Role.LEAD)


def test_after_five_wrong_passwords_the_right_one_is_refused_too(quill: User) -> None:
    client = Client()
    for _ in range(5):
        client.post(SIGN_IN, {"login": "quill", "password": "wrong"})
    answer = client.post(SIGN_IN, {"login": "quill", "password": PASSWORD})

    assert (answer.status_code, "_auth_user_id" in client.session) == (200, False)


def test_guesses_at_one_account_lock_out_nobody_else(quill: User, fleet: Fleet) -> None:
    person("wren", fleet.cluster, Role.LEAD)
    for _ in range(5):
        Client().post(SIGN_IN, {"login": "quill", "password": "wrong"}, REMOTE_ADDR="203.0.113.9")
    client = Client()

    assert client.post(SIGN_IN, {"login": "wren", "password": PASSWORD}).status_code == 302


def test_one_address_may_not_guess_at_many_accounts(fleet: Fleet) -> None:
    for number in range(12):
        person(f"wren-{number}", fleet.cluster, Role.VIEWER)
    for number in range(11):
        Client().post(SIGN_IN, {"login": f"wren-{number}", "password": "wrong"})
    client = Client()
    client.post(SIGN_IN, {"login": "wren-11", "password": PASSWORD})

    assert "_auth_user_id" not in client.session


def test_whoever_sits_at_an_open_session_has_five_guesses_at_its_password(quill: User) -> None:
    client = Client()
    client.force_login(quill)
    for _ in range(5):
        client.post(PROVE, {"password": "wrong", "next": PROPOSE})
    client.post(PROVE, {"password": PASSWORD, "next": PROPOSE})

    assert "account_authentication_methods" not in client.session


def test_proving_more_than_ten_times_a_minute_is_too_often(quill: User) -> None:
    client = Client()
    client.force_login(quill)
    answers = [client.post(PROVE, {"password": PASSWORD, "next": PROPOSE}).status_code for _ in range(11)]

    assert (set(answers[:10]), answers[10]) == ({302}, 429)


def test_the_twenty_first_act_of_a_minute_waits_and_says_so(quill: User) -> None:
    client = Client()
    client.force_login(quill)
    client.post(PROVE, {"password": PASSWORD, "next": PROPOSE})
    answers = [client.post(PROPOSE, {}) for _ in range(21)]

    assert {answer.status_code for answer in answers[:20]} == {422}
    assert answers[20].status_code == 429
    assert "Wait a minute" in answers[20].content.decode()
