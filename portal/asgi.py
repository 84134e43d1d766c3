"""ASGI entry point, for hosts that offer nothing else; ``portal.wsgi`` is the faster one."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

application = get_asgi_application()

from django.conf import settings  # noqa: E402  (Django is set up only now)
from granian.utils.proxies import wrap_asgi_with_proxy_headers  # noqa: E402

from portal.connections import serve_requests  # noqa: E402

if settings.TRUSTED_PROXIES:
    application = wrap_asgi_with_proxy_headers(application, settings.TRUSTED_PROXIES)
serve_requests()
