from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.utils.translation import gettext_lazy as _

from portal.accounts.models import User


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Makes and deactivates accounts; nobody is deleted, because signatures name people."""

    fieldsets = (*(UserAdmin.fieldsets or ()), (_("Portal"), {"fields": ("display_name", "language")}))
    list_display = ("username", "display_name", "is_active", "last_login")

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False
