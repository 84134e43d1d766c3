"""How django-allauth behaves here."""

import time
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from allauth.socialaccount.adapter import get_adapter as get_provider_adapter
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from portal.accounts.single_sign_on.provider import PROVIDER


class InvitedOnly(DefaultAccountAdapter):
    """An administrator makes accounts; nobody signs up by themselves."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Those of django-allauth, and the round trip to the identity provider for people who sign in there."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        if user.is_authenticated and _signs_in_at_the_provider(user):
            name = get_provider_adapter().list_apps(context.request, provider=PROVIDER)[0].name
            said = _("Sign in again at %(provider)s") % {"provider": name}
            methods.append({"id": PROVIDER, "description": said, "url": reverse("sso_reauthenticate")})
        return methods

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Not within five minutes of a round trip, which django-allauth itself does not count."""
        return super().is_reauthentication_required(app=app, **kwargs) and not _proved_at_the_provider(context.request)


def _signs_in_at_the_provider(user: Any) -> bool:
    configured = PROVIDER in settings.SOCIALACCOUNT_PROVIDERS
    return configured and SocialAccount.objects.filter(user=user, provider=PROVIDER).exists()


def _proved_at_the_provider(request: HttpRequest) -> bool:
    records = get_authentication_records(request, request.user)
    proofs = [each["at"] for each in records if each["method"] == PROVIDER and each.get("reauthenticated")]
    return bool(proofs) and time.time() - max(proofs) < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
