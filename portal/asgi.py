"""ASGI entry point, for hosts that offer nothing else; ``portal.wsgi`` is the faster one."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

application = get_asgi_application()
