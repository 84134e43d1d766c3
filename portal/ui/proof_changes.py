"""Changes of what proves a person to be there, written into the ledger: passwords, second factors, identities."""

from typing import Any

from allauth.account.signals import password_changed, password_set
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from allauth.socialaccount.signals import social_account_added
from django.dispatch import receiver
from django.utils import timezone

from checks.services.people import note_proof_changed


@receiver(password_changed)
@receiver(password_set)
def note_password(user: Any, **_: Any) -> None:
    """A new password."""
    note_proof_changed(user=user, what="password_changed", target=user.username, now=timezone.now())


@receiver(authenticator_added)
def note_added(user: Any, authenticator: Any, **_: Any) -> None:
    """A second factor more."""
    _note(user, "second_factor_added", authenticator)


@receiver(authenticator_removed)
def note_removed(user: Any, authenticator: Any, **_: Any) -> None:
    """A second factor less."""
    _note(user, "second_factor_removed", authenticator)


@receiver(authenticator_reset)
def note_reset(user: Any, authenticator: Any, **_: Any) -> None:
    """New recovery codes."""
    _note(user, "second_factor_renewed", authenticator)


@receiver(social_account_added)
def note_identity(sociallogin: Any, **_: Any) -> None:
    """An account was tied to who somebody is at the identity provider."""
    account = sociallogin.account
    target = f"{account.user.username} {account.extra_data.get('iss', '')} {account.extra_data.get('sub', '')}"
    note_proof_changed(user=account.user, what="identity_tied", target=target, now=timezone.now())


def _note(user: Any, what: str, authenticator: Any) -> None:
    note_proof_changed(user=user, what=what, target=f"{user.username} {authenticator.type}", now=timezone.now())
