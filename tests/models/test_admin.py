"""The admin shows the rows of the portal and changes none."""

from contextlib import suppress

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client, RequestFactory
from django.urls import NoReverseMatch, reverse

from checks.models import LedgerEntry, Role, Token
from checks.services.ledger import write_entry
from tests.factories import NOON, enrolled_machine, make_cluster
from tests.people import person

OURS = [model for model in admin.site._registry if model._meta.app_label == "checks"]


@pytest.fixture
def superuser(client: Client) -> Client:
    client.force_login(get_user_model().objects.create_superuser("root", password="correct horse battery staple"))
    return client


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_nobody_may_add_change_or_delete_a_row(model: type) -> None:
    shown, request = admin.site.get_model_admin(model), RequestFactory().get("/")

    assert not shown.has_add_permission(request)
    assert not shown.has_change_permission(request)
    assert not shown.has_delete_permission(request)


@pytest.mark.django_db
@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_each_list_opens(superuser: Client, model: type) -> None:
    enrolled_machine(make_cluster()).push()

    assert superuser.get(reverse(f"admin:checks_{model.__name__.lower()}_changelist")).status_code == 200


@pytest.mark.django_db
def test_the_hmac_of_a_token_is_not_shown(superuser: Client) -> None:
    enrolled_machine(make_cluster())
    token = Token.objects.get(kind="agent")
    page = superuser.get(reverse("admin:checks_token_change", args=[token.pk])).content.decode()

    assert token.key in page
    assert token.digest not in page


def _addresses() -> list[str]:
    """Where the admin would add, change, delete or act upon a row of the portal, whatever models it knows."""
    found = []
    for model in apps.get_app_config("checks").get_models():
        for act in ("changelist", "add", "change", "delete"):
            with suppress(NoReverseMatch):
                arguments = ["1"] if act in ("change", "delete") else []
                found.append(reverse(f"admin:checks_{model._meta.model_name}_{act}", args=arguments))
    return found


@pytest.mark.django_db
def test_not_even_a_superuser_writes_a_row_through_its_addresses(superuser: Client) -> None:
    write_entry(what="test", target="nothing", now=NOON)
    entry = LedgerEntry.objects.get()
    chosen = {"action": "delete_selected", "_selected_action": [str(entry.pk)], "post": "yes"}
    answers = {one: superuser.post(one, chosen).status_code for one in _addresses()}
    lists = {one for one in answers if one.count("/") == 4}

    assert (len(lists), len(answers)) == (len(OURS), 4 * len(OURS))
    assert {status for one, status in answers.items() if one not in lists} <= {302, 403}
    assert superuser.post(reverse("admin:checks_ledgerentry_change", args=[entry.pk]), {}).status_code == 403
    assert LedgerEntry.objects.get() == entry


@pytest.mark.django_db
def test_whoever_leads_a_cluster_sees_nothing_of_it(client: Client) -> None:
    client.force_login(person("quill", make_cluster(), Role.LEAD, Role.ADMIN))
    answers = [client.get(one) for one in _addresses()]

    assert {(one.status_code, one.headers["Location"].partition("?")[0]) for one in answers} == {(302, "/admin/login/")}
