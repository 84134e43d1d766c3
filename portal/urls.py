"""Addresses of the site.

The API owns its whole paths: ``/api/v1/…``, ``/gate/…``, ``/agent/…``, ``/healthz``, ``/readyz``, ``/metrics``.
"""

from django.contrib import admin
from django.urls import include, path

from portal.accounts.views import choose_language

urlpatterns = [
    path("", include("checks.api.urls")),
    path("accounts/language/", choose_language, name="choose_language"),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("", include("portal.ui.urls")),
]

# Programs that Django refuses before a view is reached are not shown a page.
handler400 = "checks.api.refusals.bad_request"
handler500 = "checks.api.refusals.server_error"
