"""Proof that the person in front of a session is the one it belongs to, fresh enough to put their name to something.

The proofs themselves (password, code, security key, a round trip to an identity provider) are django-allauth's; a form
that was sent too late waits in the session while its sender proves themselves, and is then taken as it was sent.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from allauth.core.exceptions import ReauthenticationRequired
from allauth.core.ratelimit import consume_or_429
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.services.proofs import MAX_PROOF_AGE, Proof

View = Callable[..., HttpResponseBase]
_LONGEST_AGENT = 300


class NoProofPossibleError(CountersignError):
    """The account has neither a password nor a second factor that this portal could ask for."""

    code = "cannot_prove"
    status = 403

    def __init__(self) -> None:
        said = _("Your account has neither a password nor a second factor here, so it cannot prove that it is you.")
        super().__init__(said)


def step_up(view: View) -> View:
    """Let a POST through with a proof of at most five minutes; without one it waits until there is one.

    One person does twenty such things a minute at most: more is a script in their session, or a mistake.

    Pages are shown without. A form that somebody left waiting is dropped as soon as they look at any such page again.
    """

    @wraps(view)
    def proved(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST":
            request.session.pop(STATE_SESSION_KEY, None)
        elif proof_of(request, now=timezone.now()) is None:
            ask_for_proof(request)
        elif limited := consume_or_429(request, action="act", user=request.user):
            return limited
        return view(request, *args, **kwargs)

    return proved


def proof_first(view: View) -> View:
    """Ask for the proof before the form is shown, where what was sent would not survive the way to it."""

    @wraps(view)
    def proved(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST" and proof_of(request, now=timezone.now()) is None:
            ask_for_proof(request)
        return view(request, *args, **kwargs)

    return proved


def ask_for_proof(request: HttpRequest) -> None:
    """Send the person to prove themselves; a form comes back by itself, a page by its address.

    Raises:
        ReauthenticationRequired: always, where the account can prove anything; the middleware makes a redirect of it.
        NoProofPossibleError: the account has nothing to prove itself with.
    """
    if not get_adapter().get_reauthentication_methods(request.user):
        raise NoProofPossibleError
    if request.method != "POST":
        request.session.pop(STATE_SESSION_KEY, None)
    raise ReauthenticationRequired


def proof_of(request: HttpRequest, *, now: datetime) -> Proof | None:
    """The newest proof of this session, where it is fresh enough.

    Signing in is none: it says who opened the session, maybe hours ago and maybe on a desk that was left since.
    """
    records = [each for each in get_authentication_records(request, request.user) if each.get("reauthenticated")]
    if not records:
        return None
    newest = records[-1]
    at = datetime.fromtimestamp(newest["at"], UTC)
    if not (at <= now <= at + MAX_PROOF_AGE):
        return None
    return Proof(
        method=str(newest.get("type") or newest["method"]),
        at=at,
        address=request.META.get("REMOTE_ADDR") or None,
        user_agent=request.META.get("HTTP_USER_AGENT", "")[:_LONGEST_AGENT],
    )


def fresh_proof(request: HttpRequest) -> Proof:
    """The proof behind a request that ``step_up`` let through.

    Raises:
        ReauthenticationRequired: it became too old on the way.
    """
    proof = proof_of(request, now=timezone.now())
    if proof is None:
        raise ReauthenticationRequired
    return proof
