"""WSGI entry point: pages and API (under ASGI Django serves a quarter of the requests)."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

application = get_wsgi_application()
