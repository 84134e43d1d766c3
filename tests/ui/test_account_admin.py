"""Accounts on the admin site: every act of an administrator takes a fresh proof, and is in the ledger."""

import pytest
from django.test import Client

from checks.models import LedgerEntry
from portal.accounts.models import User
from tests.fleet import PASSWORD
from tests.ui.conftest import seen_by
from tests.ui.test_step_up import prove

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root-of-all", password=PASSWORD)


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", password="a long password of ada")


def proved(user: User) -> Client:
    """A session of somebody who has just proved to be there."""
    client = seen_by(user).client
    prove(client, "/")
    return client


def form_of(user: User, **changes: object) -> dict[str, object]:
    shown: dict[str, object] = {
        "username": user.username, "language": user.language, "is_active": "on", "date_joined_0": "2026-11-30",
        "date_joined_1": "12:00:00",
    }  # fmt: skip
    return {name: held for name, held in {**shown, **changes}.items() if held is not None}


def test_closing_an_account_takes_a_fresh_proof(root: User, ada: User, client: Client) -> None:
    client.force_login(root)
    answer = client.post(f"/admin/accounts/user/{ada.pk}/change/", form_of(ada, is_active=None))
    ada.refresh_from_db()

    assert (answer.status_code, answer.headers["Location"].split("?")[0]) == (302, "/accounts/reauthenticate/")
    assert ada.is_active


def test_the_proof_is_asked_for_before_the_form(root: User, ada: User, client: Client) -> None:
    """An address with what was searched for in it does not come back with a form that was sent."""
    client.force_login(root)
    page = f"/admin/accounts/user/{ada.pk}/change/?_changelist_filters=q%3Dada"

    assert client.get(page).headers["Location"].startswith("/accounts/reauthenticate/")
    assert proved(root).get(page).status_code == 200


def test_an_administrator_who_can_prove_nothing_is_refused(ada: User, client: Client) -> None:
    client.force_login(User.objects.create_superuser("root-without-password"))

    assert client.get(f"/admin/accounts/user/{ada.pk}/change/").status_code == 403


def test_closing_an_account_stands_in_the_ledger_with_who_did_it(root: User, ada: User) -> None:
    answer = proved(root).post(f"/admin/accounts/user/{ada.pk}/change/", form_of(ada, is_active=None))
    entry = LedgerEntry.objects.get(what="account_changed")
    ada.refresh_from_db()

    assert (answer.status_code, ada.is_active) == (302, False)
    assert (entry.who, entry.target, entry.data["active"]) == (root, "ada", False)
    assert "Active" in entry.data["fields"]


def test_a_new_account_stands_in_the_ledger(root: User) -> None:
    words = {"username": "bob", "password1": "a long password of bob", "password2": "a long password of bob"}
    answer = proved(root).post("/admin/accounts/user/add/", {**words, "usable_password": "true"})

    assert (answer.status_code, LedgerEntry.objects.get(what="person_added").target) == (302, "bob")


def test_a_password_that_an_administrator_sets_takes_a_fresh_proof(root: User, ada: User, client: Client) -> None:
    client.force_login(root)
    words = {"password1": "another long password", "password2": "another long password", "usable_password": "true"}
    answer = client.post(f"/admin/accounts/user/{ada.pk}/password/", words)
    ada.refresh_from_db()

    assert answer.headers["Location"].startswith("/accounts/reauthenticate/")
    assert ada.check_password("a long password of ada")
