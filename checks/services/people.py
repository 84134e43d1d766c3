"""Who may do what in a cluster. Every grant and its end is a ledger entry."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from checks.domain.errors import CountersignError
from checks.models import Cluster, Membership, Role
from checks.services.ledger import write_entry


class PersonRefused(CountersignError):
    """The name is taken, or the password would not hold."""

    code = "person_refused"


@transaction.atomic
def add_person(
    *, username: str, password: str | None, by: AbstractBaseUser | None, now: datetime, email: str = ""
) -> AbstractBaseUser:
    """Make an account that can sign in, and see nothing until it gets a role.

    Without a *password* it signs in at the identity provider only, which knows it by *email* the first time. Notices
    go to that address as well.

    Raises:
        PersonRefused: with what to change.
    """
    user = get_user_model()(username=username, email=email)
    user.set_password(password)
    try:
        if password is not None:
            validate_password(password, user)
        user.clean_fields()
        with transaction.atomic():
            user.save()
    except ValidationError as error:
        raise PersonRefused(" ".join(error.messages)) from error
    except IntegrityError as error:
        raise PersonRefused(f"There is already somebody called {username!r}; choose another name.") from error
    write_entry(what="person_added", target=username, who=by, now=now)
    return user


@transaction.atomic
def change_address(*, user: AbstractBaseUser, email: str, by: AbstractBaseUser | None, now: datetime) -> None:
    """Send *user*'s notices elsewhere; an identity that was tied before stays tied.

    Raises:
        PersonRefused: *email* is no address.
    """
    person = get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    before, person.email = person.email, email
    try:
        person.clean_fields()
    except ValidationError as error:
        raise PersonRefused(" ".join(error.messages)) from error
    person.save(update_fields=["email"])
    data = {"before": before, "after": email}
    write_entry(what="address_changed", target=person.get_username(), who=by, now=now, data=data)


@transaction.atomic
def grant_role(
    *, user: AbstractBaseUser, cluster: Cluster, role: Role, by: AbstractBaseUser | None, now: datetime
) -> Membership:
    """Give *user* a role in *cluster*; granting it twice changes nothing and writes nothing."""
    membership, made = Membership.objects.get_or_create(user_id=user.pk, cluster=cluster, role=role)
    if made:
        data = {"user": user.pk, "role": role}
        write_entry(what="role_granted", target=f"{user} {role}", who=by, cluster=cluster, now=now, data=data)
    return membership


@transaction.atomic
def end_role(
    *, user: AbstractBaseUser, cluster: Cluster, role: Role, by: AbstractBaseUser | None, reason: str, now: datetime
) -> None:
    """Take a role away; it counts from the next request."""
    ended, _ = Membership.objects.filter(user_id=user.pk, cluster=cluster, role=role).delete()
    if ended:
        write_entry(what="role_ended", target=f"{user} {role}", who=by, cluster=cluster, reason=reason, now=now)


@transaction.atomic
def set_active(
    *, user: AbstractBaseUser, active: bool, by: AbstractBaseUser | None, reason: str, now: datetime
) -> None:
    """Close an account, or open it again; what a closed one signed counts no more from this second on."""
    person = get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    if person.is_active == active:
        return
    person.is_active = active
    person.save(update_fields=["is_active"])
    what = "account_opened" if active else "account_closed"
    write_entry(what=what, target=person.get_username(), who=by, reason=reason, now=now)


def note_account_changed(
    *, user: AbstractBaseUser, what: str, fields: Sequence[str], by: AbstractBaseUser | None, now: datetime
) -> None:
    """Write down what an administrator did to an account: *what*, and the names of the *fields* that changed."""
    data = {"fields": [*fields], "active": user.is_active}
    write_entry(what=what, target=user.get_username(), who=by, now=now, data=data)


def note_proof_changed(*, user: AbstractBaseUser, what: str, target: str, now: datetime) -> None:
    """Write down that what proves *user* to be there has changed: who signs rests on it."""
    write_entry(what=what, target=target, who=user, now=now)
