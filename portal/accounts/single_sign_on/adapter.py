"""Whom the identity provider lets in: people who were invited here, and nobody by signing up.

The first sign-in ties an invited account to (issuer, subject); from then on only that counts.
"""

import time
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from portal.accounts.single_sign_on.provider import PROVIDER

#: How far the provider's clock may be from ours, seconds.
LEEWAY_S = 30


class InvitedAtTheProvider(DefaultSocialAccountAdapter):
    """What happens when somebody comes back from the provider."""

    def list_apps(self, request: HttpRequest, *args: Any, **kwargs: Any) -> list[SocialApp]:
        """The one of the settings; rows of the database could bring in another provider unseen."""
        return [app for app in super().list_apps(request, *args, **kwargs) if app.pk is None]

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        asked, claims = sociallogin.state.get("data") or {}, sociallogin.account.extra_data
        if not asked.get("nonce") or claims.get("nonce") != asked["nonce"]:
            refuse(request, _("That answer belongs to no sign-in that was begun here; begin again."))
        if asked.get("prove"):
            _prove(request, sociallogin, asked)
        if not sociallogin.is_existing:
            sociallogin.connect(request, _invited(request, sociallogin))


def refuse(request: HttpRequest, said: str) -> None:
    """Show why nobody was signed in, and nothing was proved.

    Raises:
        ImmediateHttpResponse: always.
    """
    raise ImmediateHttpResponse(render(request, "account/sso_refused.html", {"said": said}, status=403))


def _prove(request: HttpRequest, sociallogin: SocialLogin, asked: dict[str, Any]) -> None:
    """Take a round trip as proof that the person of this session is there, and go on where it was asked for.

    It counts only for the same person, and only when the provider says that they signed in after we asked.
    """
    mine = request.user.pk is not None and request.user.pk == asked["prove"] == getattr(sociallogin.user, "pk", None)
    if not mine:
        refuse(request, _("This is not the identity that your account here signs in with; nothing was proved."))
    said = sociallogin.account.extra_data.get("auth_time")
    if isinstance(said, bool) or not isinstance(said, int | float):
        refuse(request, _("The identity provider does not say when you signed in, so it proves nothing here."))
    now = time.time()
    if not asked["at"] - LEEWAY_S <= said <= now + LEEWAY_S:
        refuse(request, _("You did not sign in again at the identity provider, so nothing was proved."))
    record_authentication(request, request.user, method=PROVIDER, reauthenticated=True, at=min(said, now))
    query = {"next": sociallogin.state["next"]} if sociallogin.state.get("next") else {}
    raise ImmediateHttpResponse(HttpResponseRedirect(reverse("sso_proved", query=query)))


def _invited(request: HttpRequest, sociallogin: SocialLogin) -> Any:
    """The account that was made for this person, which nobody has signed in to from the provider before."""
    people = _matching(sociallogin)
    tied = SocialAccount.objects.filter(user__in=people, provider=PROVIDER)
    if len(people) != 1 or tied.exists():
        refuse(request, _("No account was made here for who you are there; ask an administrator for an invitation."))
    return people[0]


def _matching(sociallogin: SocialLogin) -> list[Any]:
    claims, active = sociallogin.account.extra_data, get_user_model().objects.filter(is_active=True)
    if sociallogin.provider.app.settings["match"] == "username":
        name = claims.get("preferred_username")
        return list(active.filter(username__iexact=name)[:2]) if name else []
    address = claims.get("email") if claims.get("email_verified") is True else None
    return list(active.filter(email__iexact=address)[:2]) if address else []
