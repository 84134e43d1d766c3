"""WSGI entry point: pages and API (under ASGI Django serves a quarter of the requests)."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

application = get_wsgi_application()

from portal.connections import trust_fresh_connections  # noqa: E402  (needs the settings)

trust_fresh_connections()
