"""Typed readers of environment variables, used by ``portal.settings`` only.

A secret may come from ``NAME`` or from the file that ``NAME_FILE`` names, as container platforms mount them.
"""

import os
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


def env_str(name: str, default: str) -> str:
    """The variable's text, or *default* when it is unset."""
    return os.environ.get(name, default)


def env_list(name: str) -> list[str]:
    """The comma-separated entries of the variable; empty when it is unset."""
    return [entry.strip() for entry in os.environ.get(name, "").split(",") if entry.strip()]


def env_networks(name: str) -> list[str]:
    """The comma-separated addresses and networks of the variable, as networks (``10.0.0.1`` is ``10.0.0.1/32``).

    Raises:
        ImproperlyConfigured: an entry is neither; left out it would trust somebody else than was meant.
    """
    try:
        return [str(ip_network(entry, strict=False)) for entry in env_list(name)]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} holds addresses or networks like 10.0.0.0/24; {error}.") from error


def env_bool(name: str, default: bool) -> bool:
    """The variable as a yes or no.

    Raises:
        ImproperlyConfigured: it is neither, because guessing would be worse.
    """
    raw = os.environ.get(name)
    if raw is None:
        return default
    if raw.lower() in _TRUE:
        return True
    if raw.lower() in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={raw!r} is neither yes nor no; write 1 or 0.")


def env_int(name: str, default: int) -> int:
    """The variable as a whole number.

    Raises:
        ImproperlyConfigured: it is not one.
    """
    raw = os.environ.get(name)
    if raw is None:
        return default
    try:
        return int(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={raw!r} is not a whole number.") from error


def env_secret(name: str) -> str:
    """The secret in ``NAME``, or in the file named by ``NAME_FILE``; empty when neither is set.

    Raises:
        ImproperlyConfigured: both are set, or the file cannot be read or is empty.
    """
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        return os.environ.get(name, "")
    if os.environ.get(name):
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one of them.")
    try:
        secret = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE={path!r} cannot be read: {error.strerror}.") from error
    if not secret:
        raise ImproperlyConfigured(f"{name}_FILE={path!r} is empty.")
    return secret


def env_peppers(name: str) -> dict[int, str]:
    """Numbered keys, written ``1:first,2:second``; the highest number makes new hashes, all of them check old ones.

    Raises:
        ImproperlyConfigured: an entry has no number, or a key is shorter than 32 characters.
    """
    peppers: dict[int, str] = {}
    for entry in filter(None, (part.strip() for part in env_secret(name).replace("\n", ",").split(","))):
        number, _, key = entry.partition(":")
        if not number.isdigit() or len(key) < 32:
            raise ImproperlyConfigured(f"{name} holds entries like 1:KEY, each KEY of at least 32 characters.")
        peppers[int(number)] = key
    return peppers


#: What the server holds worker and commands to. Web processes are held to less (``portal.connections``). A statement
#: ends with its task (240 s), or with the process that asked.
WORKING_LIMITS = {
    "statement_timeout": "240s",
    "lock_timeout": "30s",
    "idle_in_transaction_session_timeout": "60s",
    "client_connection_check_interval": "10s",
    # Prepared statements (``checks.selectors.prepared``) are planned once a connection: left alone, the server plans
    # the gate's anew on every question, which takes as long as answering it.
    "plan_cache_mode": "force_generic_plan",
}

#: A migration takes its time, but waits for no table: whoever comes after it would wait with it, reports among them.
MIGRATING_LIMITS = {"lock_timeout": "10s"}

# A server that does not answer, or a network that is cut, must cost a request seconds, not the minutes that TCP would
# wait: to connect (seconds), to have sent data acknowledged (milliseconds), and to see a silent peer gone (seconds).
_GIVE_UP_SOON = {
    "connect_timeout": "2",
    "tcp_user_timeout": "5000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
}


def database_from_url(url: str, *, password: str = "", limits: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Django's description of the PostgreSQL database behind *url*; query parameters are libpq's own.

    *password* is for addresses that hold none, so that it can come from a file of its own. *limits* are settings of
    each session, which the address's own ``options`` may change.

    Raises:
        ImproperlyConfigured: the address is of another database; triggers, locks and roles differ there.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"}:
        raise ImproperlyConfigured(f"Only PostgreSQL is supported; the address begins with {parts.scheme or url!r}://.")
    options = _GIVE_UP_SOON | dict(parse_qsl(parts.query))
    options["options"] = f"{session_options(limits or {})} {options.get('options', '')}".strip()
    return {
        "ENGINE": "portal.database",
        "NAME": unquote(parts.path.lstrip("/")) or "countersign",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or password),
        "HOST": options.pop("host", unquote(parts.hostname or "")),
        "PORT": options.pop("port", str(parts.port or "")),
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }


def env_databases() -> dict[str, dict[str, Any]]:
    """``DATABASES``: what DATABASE_URL and DATABASE_OWNER_URL name, with passwords from files of their own.

    Raises:
        ImproperlyConfigured: an address is not one of PostgreSQL, or a secret cannot be read.
    """
    url, password = env_secret("DATABASE_URL") or "postgresql:///countersign", env_secret("DATABASE_PASSWORD")
    owner_password = env_secret("DATABASE_OWNER_PASSWORD") or password
    return {
        "default": database_from_url(url, password=password, limits=WORKING_LIMITS),
        "owner": database_from_url(
            env_secret("DATABASE_OWNER_URL") or url, password=owner_password, limits=MIGRATING_LIMITS
        ),
    }


def env_shared_cache() -> dict[str, str]:
    """The cache that processes share, in what CACHE_URL names; of each process alone where that is empty."""
    url = env_secret("CACHE_URL")
    if url:
        return {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": url}
    return {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "shared"}


def env_single_sign_on() -> dict[str, dict[str, Any]]:
    """``SOCIALACCOUNT_PROVIDERS``: the identity provider that OIDC_ISSUER names; none where that is empty.

    Raises:
        ImproperlyConfigured: a part of it is missing; half a provider would be a sign-in that fails for everybody.
    """
    issuer = env_str("OIDC_ISSUER", "").rstrip("/")
    client = env_str("OIDC_CLIENT_ID", "")
    if not issuer and not client:
        return {}
    secret = env_secret("OIDC_CLIENT_SECRET")
    if not (issuer and client and secret):
        raise ImproperlyConfigured("OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET belong together; set all three.")
    match = env_str("OIDC_MATCH", "email")
    if match not in {"email", "username"}:
        raise ImproperlyConfigured(f"OIDC_MATCH={match!r}: people are known by their email or their username there.")
    app = {
        "provider_id": "sso",
        "name": env_str("OIDC_NAME", "Single sign-on")[:40],
        "client_id": client,
        "secret": secret,
        "settings": {"server_url": issuer, "oauth_pkce_enabled": True, "match": match},
    }
    return {"sso": {"APPS": [app]}}


def session_options(limits: Mapping[str, str]) -> str:
    """What libpq calls ``options``: the server's settings for one session."""
    return " ".join(f"-c {name}={value}" for name, value in limits.items())


def broker_from_redis_url(url: str) -> str:
    """Celery's spelling of a Redis address: ``unix:///run/valkey.sock?db=1`` becomes ``redis+socket://…``."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    database = dict(parse_qsl(parts.query)).get("db", "0")
    return f"redis+socket://{parts.path}?virtual_host={database}"
