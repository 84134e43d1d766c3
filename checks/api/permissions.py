"""Who may call what; the default is nobody."""

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView


class DenyAll(BasePermission):
    """The default of every view, so that one that forgets to name its scope is closed, not open."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return False
