"""WSGI entry point: pages and API (under ASGI Django serves a quarter of the requests)."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

_django = get_wsgi_application()

from django.conf import settings  # noqa: E402  (Django is set up only now)
from granian.utils.proxies import wrap_wsgi_with_proxy_headers  # noqa: E402

from portal.connections import serve_requests  # noqa: E402
from portal.lanes import Application, Lanes  # noqa: E402

application: Application = Lanes(_django)
if settings.TRUSTED_PROXIES:
    application = wrap_wsgi_with_proxy_headers(application, settings.TRUSTED_PROXIES)
serve_requests()
