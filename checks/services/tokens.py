"""Bearer tokens: issued once as text, kept as an HMAC, refused with one sentence whatever is wrong with them."""

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Q

from checks.domain.errors import CountersignError
from checks.models import Cluster, Node, Token, TokenKind
from checks.services.ledger import write_entry

SCOPES = {
    TokenKind.AGENT: ["agent:write"],
    TokenKind.GATE: ["gate:read"],
    TokenKind.ENROLMENT: ["agent:enrol"],
    TokenKind.OPERATOR: ["operator"],
}
USE_NOTED_EVERY = timedelta(minutes=1)
_KEY_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_LONGEST = 256


class BadToken(CountersignError):
    """Unknown, wrong, expired, revoked, used up or from elsewhere: the caller learns only that it is not valid."""

    code = "bad_token"
    status = 401

    def __init__(self) -> None:
        super().__init__("This token is not valid here; ask a cluster administrator for a new one.")


@dataclass(frozen=True, slots=True)
class Bearer:
    """The parts of ``cs_<kind>_<key>_<secret>``. *key* finds the row, *secret* is never stored."""

    kind: str
    key: str
    secret: str


def parse_bearer(text: str) -> Bearer:
    """Take a token's text apart.

    Raises:
        BadToken: it does not have that form.
    """
    mark, *parts = text.split("_", 3) if len(text) <= _LONGEST else [""]
    if mark != "cs" or len(parts) != 3 or parts[0] not in TokenKind.values or len(parts[1]) != 8 or not parts[2]:
        raise BadToken
    return Bearer(*parts)


def digest_of(secret: str, *, pepper: int) -> str:
    """HMAC-SHA256 of *secret* under the numbered key, in hex; a number that is configured no more matches nothing."""
    key = settings.TOKEN_PEPPERS.get(pepper)
    if key is None:
        return ""
    return hmac.new(key.encode(), secret.encode(), hashlib.sha256).hexdigest()


def secret_matches(secret: str, *, digest: str, pepper: int) -> bool:
    """Whether *secret* belongs to the stored *digest*, in a time that does not depend on where they differ."""
    computed = digest_of(secret, pepper=pepper)
    return bool(computed) and hmac.compare_digest(computed, digest)


def is_live(*, revoked_at: datetime | None, expires_at: datetime | None, now: datetime) -> bool:
    """Neither revoked nor past its end."""
    return revoked_at is None and (expires_at is None or now < expires_at)


def comes_from(address: str | None, networks: Sequence[str]) -> bool:
    """Whether *address* lies in one of *networks* (CIDR); no networks means everywhere, no address (or none that can
    be read) means nowhere.
    """
    if not networks:
        return True
    try:
        source: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(address or "")
    except ValueError:
        return False
    source = getattr(source, "ipv4_mapped", None) or source
    return any(source in ipaddress.ip_network(network, strict=False) for network in networks)


def authenticate(*, bearer: str, kinds: Collection[str], address: str | None, now: datetime) -> Token:
    """The live token behind *bearer*, with its node and cluster; its use is noted at most once a minute.

    Raises:
        BadToken: for every reason alike.
    """
    parts = parse_bearer(bearer)
    token = Token.objects.select_related("node__cluster", "cluster").filter(key=parts.key).first()
    if token is None or not token_is_valid(token, parts, address=address, now=now) or token.kind not in kinds:
        raise BadToken
    note_use(token, now=now)
    return token


def token_is_valid(token: Token, bearer: Bearer, *, address: str | None, now: datetime) -> bool:
    """Secret, kind, life, uses and network all hold."""
    return (
        secret_matches(bearer.secret, digest=token.digest, pepper=token.pepper)
        and token.kind == bearer.kind
        and is_live(revoked_at=token.revoked_at, expires_at=token.expires_at, now=now)
        and token.uses_left != 0
        and comes_from(address, token.networks)
    )


def note_use(token: Token, *, now: datetime) -> None:
    """Move ``last_used_at``, at most once a minute, so that a busy token does not rewrite its row each second."""
    if token.last_used_at is None or now - token.last_used_at >= USE_NOTED_EVERY:
        idle = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_NOTED_EVERY)
        Token.objects.filter(idle, pk=token.pk).update(last_used_at=now)


@transaction.atomic
def issue_token(
    *,
    kind: TokenKind,
    now: datetime,
    created_by: AbstractBaseUser | None,
    name: str = "",
    cluster: Cluster | None = None,
    clusters: Collection[Cluster] = (),
    node: Node | None = None,
    expires_at: datetime | None = None,
    uses_left: int | None = None,
    networks: Sequence[str] = (),
    hostname_pattern: str = "",
) -> tuple[Token, str]:
    """Make a token; the second value is its text, which cannot be shown again.

    Raises:
        CountersignError: a network is not written as CIDR.
    """
    number, secret = _newest_pepper(), secrets.token_urlsafe(32)
    token = Token.objects.create(
        kind=kind, name=name, scopes=SCOPES[kind], key=_new_key(), digest=digest_of(secret, pepper=number),
        pepper=number, cluster=cluster, node=node, created_at=now, expires_at=expires_at, uses_left=uses_left,
        created_by_id=created_by.pk if created_by is not None else None,
        networks=[_checked_network(text) for text in networks], hostname_pattern=hostname_pattern,
    )  # fmt: skip
    token.clusters.set(clusters)
    write_entry(what="token_issued", target=str(token), who=created_by, cluster=cluster, now=now)
    return token, f"cs_{kind}_{token.key}_{secret}"


@transaction.atomic
def revoke_token(*, token: Token, by: AbstractBaseUser | None, reason: str, now: datetime) -> Token:
    """End a token at once; revoking again keeps the first time."""
    token = Token.objects.select_for_update(of=("self",), no_key=True).get(pk=token.pk)
    if token.revoked_at is None:
        token.revoked_at = now
        token.save(update_fields=["revoked_at"])
        write_entry(what="token_revoked", target=str(token), who=by, cluster=token.cluster, reason=reason, now=now)
    return token


def _newest_pepper() -> int:
    if not settings.TOKEN_PEPPERS:
        raise ImproperlyConfigured("TOKEN_PEPPERS is empty: set it before issuing tokens.")
    return int(max(settings.TOKEN_PEPPERS))


def _new_key() -> str:
    return "".join(secrets.choice(_KEY_ALPHABET) for _ in range(8))


def _checked_network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError as error:
        raise CountersignError(
            f"{text!r} is no network; write it as 10.0.0.0/8 or 2001:db8::/32.", code="bad_network"
        ) from error
