"""What ``manage.py check`` refuses: settings under which the portal's promises would not hold.

E001, E004 and W001 run on their own (the latter two with ``--database``), E002, E003 and W002 with ``--deploy``.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution
from django.db import connections

OLDEST_SERVER = 150000  # PostgreSQL 15, as server_version_num writes it
SHORTEST_SECRET = 50


@register(Tags.compatibility)
def database_is_postgresql(**kwargs: Any) -> list[CheckMessage]:
    """E001: elsewhere triggers, locks and roles do less, silently: signatures could be rewritten."""
    return [
        Error(
            f"Database {alias!r} is not PostgreSQL.",
            hint="Set DATABASE_URL to a postgresql:// address.",
            id="countersign.E001",
        )
        for alias, database in settings.DATABASES.items()
        if database["ENGINE"] != "django.db.backends.postgresql"
    ]


@register(Tags.security, deploy=True)
def secrets_are_set(**kwargs: Any) -> list[CheckMessage]:
    """E002 and E003: secrets that sign sessions and hash tokens."""
    found: list[CheckMessage] = []
    if len(settings.SECRET_KEY) < SHORTEST_SECRET:
        hint = f"Set SECRET_KEY or SECRET_KEY_FILE to at least {SHORTEST_SECRET} random characters."
        found.append(Error("SECRET_KEY is missing or short.", hint=hint, id="countersign.E002"))
    if not settings.TOKEN_PEPPERS:
        hint = (
            "Set TOKEN_PEPPERS or TOKEN_PEPPERS_FILE to entries like 1:KEY, each KEY of 32 random characters or more."
        )
        found.append(Error("TOKEN_PEPPERS is missing: no token can be issued.", hint=hint, id="countersign.E003"))
    return found


@register(Tags.security, deploy=True)
def portal_is_reached_over_tls(**kwargs: Any) -> list[CheckMessage]:
    """W002: tokens and sessions would cross the network in the clear."""
    if settings.PORTAL_URL.startswith(("https://", "http://127.0.0.1", "http://localhost", "http://[::1]")):
        return []
    return [
        Caution(
            f"PORTAL_URL is {settings.PORTAL_URL}: tokens and sessions cross the network unencrypted.",
            hint="Put a TLS proxy in front and set PORTAL_URL to its https:// address.",
            id="countersign.W002",
        )
    ]


@register(Tags.database)
def server_and_role_are_fit(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """E004: the server is too old. W001: the serving role could rewrite what must stay."""
    if "default" not in (databases or ()):
        return []
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int")
        (version,) = cursor.fetchone()
        cursor.execute(_POWERS)
        (too_powerful,) = cursor.fetchone()
    found: list[CheckMessage] = []
    if version < OLDEST_SERVER:
        found.append(Error("PostgreSQL is older than 15.", hint="Use PostgreSQL 15 or later.", id="countersign.E004"))
    if too_powerful:
        hint = "Migrate as another role: set DATABASE_OWNER_URL, and give DATABASE_URL a role that owns no table."
        found.append(Caution("The serving role owns tables or is a superuser.", hint=hint, id="countersign.W001"))
    return found


_POWERS = """
    SELECT bool_or(rolsuper OR EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public' AND tableowner = rolname))
    FROM pg_roles WHERE rolname = current_user
"""
