"""The admin shows the rows of the portal and changes none."""

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client, RequestFactory
from django.urls import reverse

from checks.models import Token
from tests.factories import enrolled_machine, make_cluster

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
