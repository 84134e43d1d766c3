from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from portal.accounts.models import User

# Providers come from the settings, tokens are not kept, and nobody gets an identity written on them.
for model in (SocialApp, SocialToken, SocialAccount):
    admin.site.unregister(model)


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Makes and deactivates accounts; nobody is deleted, because signatures name people."""

    fieldsets = (*(UserAdmin.fieldsets or ()), (_("Portal"), {"fields": ("display_name", "language")}))
    list_display = ("username", "display_name", "email", "is_active", "last_login")

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False


@admin.register(SocialAccount)
class IdentityAdmin(admin.ModelAdmin):
    """Who somebody is at the identity provider: read, or taken off, so that their next sign-in ties it anew."""

    list_display = ("user", "provider", "last_login")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False
