"""Addresses of the API, as whole paths from the root of the site."""

from checks.api import gate_urls

urlpatterns = [*gate_urls.urlpatterns]
