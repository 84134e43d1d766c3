"""What ``manage.py check`` refuses: settings under which the portal's promises would not hold.

Always: E001, and with ``--database default`` E004 and E009. With ``--deploy``: E002, E003, E005, E006, E008, E010,
E011, E012, E013, W004, W005 and W010. With both: E007 and W003.
"""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connections
from django.db.utils import load_backend
from django.utils import timezone

from checks.selectors.anchors import KeyRing, KeyUnusable
from checks.selectors.status import heartbeat_signs
from checks.services.destinations import NotifyFileInvalid, destinations

OLDEST_SERVER = 150000  # PostgreSQL 15, as server_version_num writes it
SHORTEST_SECRET, FEWEST_SIGNS = 50, 5
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
# Where the quickstart puts the unix sockets of its servers; a test holds this to its own module.
EMBEDDED_SOCKETS = re.compile(r"/countersign-[^/]+$")
# As long as the column that keeps it.
PLACE = re.compile(r"(?=.{1,300}$)(/.+|mailto:[^@\s]+@[^@\s]+)")
ALIVE = ("worker", "beat")


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
        if load_backend(database["ENGINE"]).DatabaseWrapper.vendor != "postgresql"
    ]


@register(Tags.security, deploy=True)
def secrets_are_set(**kwargs: Any) -> list[CheckMessage]:
    """E002 and E003: secrets that sign sessions and hash tokens."""
    found: list[CheckMessage] = []
    if not _secret_key_is_random():
        hint = f"Set SECRET_KEY or SECRET_KEY_FILE to at least {SHORTEST_SECRET} random characters."
        found.append(Error("SECRET_KEY is missing, short or a default.", hint=hint, id="countersign.E002"))
    if not settings.TOKEN_PEPPERS:
        hint = (
            "Set TOKEN_PEPPERS or TOKEN_PEPPERS_FILE to entries like 1:KEY, each KEY of 32 random characters or more."
        )
        found.append(Error("TOKEN_PEPPERS is missing: no token can be issued.", hint=hint, id="countersign.E003"))
    return found


@register(Tags.security, deploy=True)
def debug_is_off(**kwargs: Any) -> list[CheckMessage]:
    """E005: an error page would show settings and what was sent."""
    if not settings.DEBUG:
        return []
    return [Error("DEBUG is on: error pages show what nobody should see.", hint="Unset DEBUG.", id="countersign.E005")]


@register(Tags.security, deploy=True)
def portal_is_reached_over_tls(**kwargs: Any) -> list[CheckMessage]:
    """E006: tokens and sessions would cross the network in the clear, and agents refuse to send any."""
    if urlsplit(settings.PORTAL_URL).scheme == "https" or not _is_public():
        return []
    return [
        Error(
            f"PORTAL_URL is {settings.PORTAL_URL}: agents refuse it, and sessions would cross the network unencrypted.",
            hint="Put a TLS proxy in front and set PORTAL_URL to its https:// address.",
            id="countersign.E006",
        )
    ]


@register(Tags.security, deploy=True)
def proxies_are_named(**kwargs: Any) -> list[CheckMessage]:
    """W010: web processes speak no TLS, so a proxy stands in front, and every caller would have its address."""
    if urlsplit(settings.PORTAL_URL).scheme != "https" or settings.TRUSTED_PROXIES:
        return []
    return [
        Caution(
            "TRUSTED_PROXIES is empty: everybody seems to call from the proxy's own address, so networks of tokens "
            "refuse all or none, and one person's wrong passwords stop sign-in for all.",
            hint="Set TRUSTED_PROXIES to the address or network of the TLS proxy, which sets X-Forwarded-For.",
            id="countersign.W010",
        )
    ]


@register(Tags.security, deploy=True)
def servers_are_not_the_quickstarts(**kwargs: Any) -> list[CheckMessage]:
    """E008: the embedded servers of ``make run`` have no passwords and no backup, and end with their terminal."""
    redis = urlsplit(settings.REDIS_URL)
    places = {
        "DATABASE_URL": str(settings.DATABASES["default"].get("HOST") or ""),
        "REDIS_URL": unquote(redis.path).rpartition("/")[0] if redis.scheme == "unix" else "",
    }
    embedded = [name for name, place in places.items() if EMBEDDED_SOCKETS.search(place)] if _is_public() else []
    return [
        Error(
            f"{name} is an embedded server of make run, and PORTAL_URL means other machines.",
            hint="Run PostgreSQL and Valkey as docker-compose.yml does, or as your site runs databases.",
            id="countersign.E008",
        )
        for name in embedded
    ]


@register(Tags.security, deploy=True)
def ledger_can_be_signed(**kwargs: Any) -> list[CheckMessage]:
    """E010: without a key nothing holds the ledger against whoever may write to the database."""
    try:
        if KeyRing.of_settings().signing is not None:
            return []
        said = "LEDGER_KEY_FILE is missing: nobody would see the ledger rewritten."
    except KeyUnusable as error:
        said = error.message
    hint = "Make a key (openssl genpkey -algorithm ed25519) and set LEDGER_KEY_FILE to its file."
    return [Error(said, hint=hint, id="countersign.E010")]


@register(Tags.security, deploy=True)
def ledger_is_anchored_outside(**kwargs: Any) -> list[CheckMessage]:
    """E011 and W004: where the signed heads of the ledger are told."""
    hint = "Set LEDGER_ANCHORS to directories with their whole paths, and mailto: addresses, with commas between them."
    if not settings.LEDGER_ANCHORS:
        said = "LEDGER_ANCHORS is empty: whoever may write to the database could shorten the ledger unseen."
        return [Caution(said, hint=hint, id="countersign.W004")]
    wrong = [place for place in settings.LEDGER_ANCHORS if not PLACE.fullmatch(place)]
    return [Error(f"LEDGER_ANCHORS names {place!r}.", hint=hint, id="countersign.E011") for place in wrong]


@register(Tags.security, deploy=True)
def somebody_is_told(**kwargs: Any) -> list[CheckMessage]:
    """E012 and W005: an override is no secret of its author only because other people are told at once."""
    try:
        found = destinations().every
    except NotifyFileInvalid as error:
        hint = "Correct the file; docs/operators.md has a sample."
        return [Error(str(error), hint=hint, id="countersign.E012")]
    if found or settings.MAILS_PEOPLE:
        return []
    return [
        Caution(
            "EMAIL_HOST and NOTIFY_FILE are empty: nobody is told of overrides, missing signatures or a broken ledger.",
            hint="Set EMAIL_HOST to a mail server, or NOTIFY_FILE to a file that names chats or web hooks.",
            id="countersign.W005",
        )
    ]


@register(Tags.security, deploy=True)
def identities_come_over_tls(**kwargs: Any) -> list[CheckMessage]:
    """E013: whoever sits between portal and identity provider could sign in, and sign, as anybody."""
    apps = [app for provider in settings.SOCIALACCOUNT_PROVIDERS.values() for app in provider["APPS"]]
    issuers = [urlsplit(app["settings"]["server_url"]) for app in apps]
    return [
        Error(
            f"OIDC_ISSUER is {issuer.geturl()}: whoever sits between could sign in as anybody.",
            hint="Set OIDC_ISSUER to the https:// address that the identity provider calls itself by.",
            id="countersign.E013",
        )
        for issuer in issuers
        if issuer.scheme != "https" and issuer.hostname not in LOOPBACK
    ]


Check = Callable[..., list[CheckMessage]]


def asks_the_database(check: Check) -> Callable[..., list[CheckMessage]]:
    """Run *check* where ``--database default`` is given; a database that does not answer is E009, not a traceback."""

    @wraps(check)
    def asked(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
        if "default" not in (databases or ()):
            return []
        try:
            return check()
        except OperationalError as error:
            reason = str(error).strip().splitlines()[0]
            hint = "Start PostgreSQL, or correct DATABASE_URL."
            return [Error(f"The database does not answer: {reason}", hint=hint, id="countersign.E009")]

    return asked


@register(Tags.database)
@asks_the_database
def server_is_new_enough(**kwargs: Any) -> list[CheckMessage]:
    """E004: what the schema needs does not exist before PostgreSQL 15."""
    if _one("SELECT current_setting('server_version_num')::int") >= OLDEST_SERVER:
        return []
    return [Error("PostgreSQL is older than 15.", hint="Use PostgreSQL 15 or later.", id="countersign.E004")]


@register(Tags.database, deploy=True)
@asks_the_database
def serving_role_is_weak(**kwargs: Any) -> list[CheckMessage]:
    """E007: a role that owns the tables, or could make itself one that does, can rewrite what must stay."""
    if not _one(_POWERS):
        return []
    hint = "Migrate as another role: set DATABASE_OWNER_URL, and give DATABASE_URL a role that owns no table."
    return [Error("The serving role owns tables or could: it is no mere user.", hint=hint, id="countersign.E007")]


@register(Tags.database, deploy=True)
@asks_the_database
def workers_have_been_seen(**kwargs: Any) -> list[CheckMessage]:
    """W003: without them nothing is swept, announced or cleaned up. Before the first migration nobody can have been."""
    if _one("SELECT to_regclass('checks_heartbeat') IS NULL"):
        return []
    silent = [sign.name for sign in heartbeat_signs(now=timezone.now()) if sign.name in ALIVE and sign.age_s is None]
    return [
        Caution(
            f"No {name} has ever been seen by this database.",
            hint=f"Start it: celery -A portal {name}; then look at: manage.py status",
            id="countersign.W003",
        )
        for name in silent
    ]


def _secret_key_is_random() -> bool:
    try:
        secret = settings.SECRET_KEY
    except ImproperlyConfigured:  # how Django tells that it is empty
        return False
    return len(secret) >= SHORTEST_SECRET and len(set(secret)) >= FEWEST_SIGNS and "insecure" not in secret


def _is_public() -> bool:
    return urlsplit(settings.PORTAL_URL).hostname not in LOOPBACK


def _one(statement: str) -> Any:
    with connections["default"].cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


_POWERS = """
    SELECT rolsuper OR rolcreaterole OR EXISTS (
        SELECT FROM pg_tables WHERE schemaname = 'public' AND pg_has_role(current_user, tableowner, 'MEMBER')
    )
    FROM pg_roles WHERE rolname = current_user
"""
