"""Accounts and identities, for administrators of the site: each act takes a fresh proof and is in the ledger."""

from functools import wraps
from typing import Any

from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _

from checks.services.people import note_account_changed
from portal.accounts.models import User
from portal.ui.step_up import NoProofPossibleError, View, proof_first, step_up

# Providers come from the settings, tokens are not kept, and nobody gets an identity written on them.
for model in (SocialApp, SocialToken, SocialAccount):
    admin.site.unregister(model)


def _proved(view: View) -> View:
    """Let nobody see or send the form without a fresh proof; who can give none is refused as the admin site refuses."""
    asked = proof_first(step_up(view))

    @wraps(view)
    def proved(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return asked(request, *args, **kwargs)
        except NoProofPossibleError as error:
            raise PermissionDenied(error.message) from error

    return proved


@method_decorator(_proved, name="changeform_view")
@method_decorator(_proved, name="user_change_password")
@admin.register(User)
class AccountAdmin(UserAdmin):
    """Makes and deactivates accounts; nobody is deleted, because signatures name people."""

    fieldsets = (*(UserAdmin.fieldsets or ()), (_("Portal"), {"fields": ("display_name", "language")}))
    list_display = ("username", "display_name", "email", "is_active", "last_login")

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        logged = super().log_addition(request, obj, message)
        _note(request, obj, "person_added", ())
        return logged

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        logged = super().log_change(request, obj, message)
        _note(request, obj, "account_changed", _fields_of(message))
        return logged


@method_decorator(_proved, name="delete_view")
@method_decorator(_proved, name="changelist_view")
@admin.register(SocialAccount)
class IdentityAdmin(admin.ModelAdmin):
    """Who somebody is at the identity provider: read, or taken off, so that their next sign-in ties it anew."""

    list_display = ("user", "provider", "last_login")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def delete_model(self, request: HttpRequest, obj: SocialAccount) -> None:
        super().delete_model(request, obj)
        _note(request, obj.user, "identity_taken_off", (obj.provider,))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SocialAccount]) -> None:
        taken = [*queryset.select_related("user")]
        super().delete_queryset(request, queryset)
        for identity in taken:
            _note(request, identity.user, "identity_taken_off", (identity.provider,))


def _note(request: HttpRequest, person: Any, what: str, fields: tuple[str, ...]) -> None:
    by: Any = request.user
    note_account_changed(user=person, what=what, fields=fields, by=by, now=timezone.now())


def _fields_of(message: Any) -> tuple[str, ...]:
    """Names of what was changed, as the admin site tells them; a password is told in words and has no fields."""
    told = message if isinstance(message, list) else []
    return tuple(str(name) for one in told for name in one.get("changed", {}).get("fields", ()))
