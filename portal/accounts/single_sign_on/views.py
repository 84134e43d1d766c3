"""The way to the identity provider and back. Links, not forms: the content security policy lets no form leave us."""

import secrets
import time
from typing import Any

from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.internal.flows.reauthentication import resume_request
from allauth.account.utils import get_next_redirect_url
from allauth.core.ratelimit import consume_or_429
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from requests import RequestException

from portal.accounts.single_sign_on.provider import PROVIDER, SignedTokens, SingleSignOn


@never_cache
@require_GET
def login(request: HttpRequest) -> HttpResponse:
    """Send somebody to sign in there."""
    return _away(request, prove=None, asking={})


@never_cache
@require_GET
@login_required
def reauthenticate(request: HttpRequest) -> HttpResponse:
    """Say that a round trip is needed, and offer other proofs."""
    return render(request, "account/sso_reauthenticate.html", {
        "provider": _provider(request), "redirect_to": get_next_redirect_url(request) or "",
        "reauthentication_alternatives": _alternatives(request),
    })  # fmt: skip


@never_cache
@require_GET
@login_required
def prove(request: HttpRequest) -> HttpResponse:
    """Send the person to sign in there anew, however lately they did."""
    limited = consume_or_429(request, action="reauthenticate", user=request.user, limit_get=True)
    return limited or _away(request, prove=request.user.pk, asking={"prompt": "login", "max_age": "0"})


@never_cache
@require_GET
@login_required
def proved(request: HttpRequest) -> HttpResponse:
    """Go on where the proof was asked for; whether it is fresh, that page asks by itself."""
    return resume_request(request) or HttpResponseRedirect(settings.LOGIN_REDIRECT_URL)


@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """Where the provider sends people back to."""
    _provider(request)
    answer: HttpResponse = OAuth2CallbackView.adapter_view(SignedTokens(request, PROVIDER))(request)
    return answer


def _away(request: HttpRequest, *, prove: int | None, asking: dict[str, str]) -> HttpResponse:
    provider = _provider(request)
    nonce = secrets.token_urlsafe(24)
    data = {"nonce": nonce, "at": time.time(), "prove": prove}
    try:
        answer: HttpResponse = provider.redirect(
            request, process="login", next_url=get_next_redirect_url(request), data=data,
            auth_params={"nonce": nonce, **asking},
        )  # fmt: skip
    except (RequestException, OAuth2Error, ValueError, KeyError) as error:
        answer = render_authentication_error(request, provider, exception=error)
    return answer


def _provider(request: HttpRequest) -> SingleSignOn:
    try:
        return get_adapter(request).get_provider(request, PROVIDER)
    except SocialApp.DoesNotExist:
        raise Http404 from None


def _alternatives(request: HttpRequest) -> list[dict[str, Any]]:
    following = get_next_redirect_url(request)
    methods = get_account_adapter().get_reauthentication_methods(request.user)
    others = [dict(method) for method in methods if method["id"] != PROVIDER]
    for other in others:
        other["url"] += f"?next={following}" if following else ""
    return others
