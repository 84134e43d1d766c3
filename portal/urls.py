"""Addresses of the site.

The API owns its whole paths: ``/api/v1/…``, ``/gate/…``, ``/agent/…``, ``/healthz``, ``/readyz``, ``/metrics``.
"""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("checks.api.urls")),
    path("accounts/", include("allauth.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path("", include("portal.ui.urls")),
]
