"""Who asks the gate, about which cluster, under which rules: the gate's first statement."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from checks.domain.errors import CountersignError
from checks.models import Cluster, Token


class NoSuchCluster(CountersignError):
    """Not there, closed, or not the asker's: a stranger cannot tell which."""

    code = "not_found"
    status = 404

    def __init__(self, slug: str) -> None:
        super().__init__(f"You know no cluster {slug!r}; check the name, or ask for a token or a role in it.")


@dataclass(frozen=True, slots=True)
class Asker:
    """A token as it is stored, and the host name of its node where it is an agent's (empty otherwise)."""

    token: Token
    hostname: str


@dataclass(frozen=True, slots=True)
class GateContext:
    """What one statement tells before any node is looked at.

    ``suspect_items`` have an open circuit breaker: they failed on so many nodes at once that the check itself is in
    doubt. ``sweep_at`` is when missing evidence was last written down (None: never).
    """

    cluster: Cluster
    catalog_version: str
    suspect_items: frozenset[str]
    sweep_at: datetime | None


def context_of_token(*, key: str, cluster: str, now: datetime) -> tuple[Asker, GateContext | None] | None:
    """The token with the public part *key* and the cluster, in one statement; None when there is no such token.

    The context is None where the cluster does not exist, is closed, or is not bound to the token: the three look alike
    from outside. The caller has to check the secret before it tells anything.
    """
    row = _one(_OF_TOKEN, {"key": key, "slug": cluster, "now": now})
    if row is None:
        return None
    asker = Asker(Token(**{name: row[f"t_{name}"] for name in _TOKEN}), row["hostname"] or "")
    return asker, _context(row)


def context_of_person(*, user: Any, cluster: str, now: datetime) -> GateContext | None:
    """The cluster as a signed-in person may ask about it: one they have a role in, and a superuser every one."""
    row = _one(_OF_PERSON, {"user": user.pk, "all": user.is_superuser, "slug": cluster, "now": now})
    return _context(row) if row else None


def _context(row: dict[str, Any]) -> GateContext | None:
    if row["c_id"] is None:
        return None
    cluster = Cluster(**{name: row[f"c_{name}"] for name in _CLUSTER})
    return GateContext(cluster, row["version"] or "", frozenset(row["suspects"] or ()), row["sweep_at"])


def _one(sql: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        row = cursor.fetchone()
        names = [column.name for column in cursor.description or ()]
    return dict(zip(names, map(_decoded, names, row), strict=True)) if row else None


def _decoded(name: str, value: Any) -> Any:
    """JSON columns arrive as text when the query is not Django's own."""
    return json.loads(value) if name in _JSON and value is not None else value


_TOKEN = (
    "id", "kind", "scopes", "key", "digest", "pepper", "networks", "uses_left", "expires_at", "revoked_at",
    "last_used_at", "cluster_id", "node_id",
)  # fmt: skip
_CLUSTER = (
    "id", "slug", "name", "time_zone", "profile", "overrides", "policy", "interval_s", "judged_under",
    "health_serves_as_launch",
)  # fmt: skip
_JSON = {"t_scopes", "t_networks", "c_overrides", "c_policy", "c_judged_under"}

_CLUSTER_COLUMNS = ", ".join(f"c.{name} AS c_{name}" for name in _CLUSTER)
_TOKEN_COLUMNS = ", ".join(f"t.{name} AS t_{name}" for name in _TOKEN)
# A breaker ends 30 minutes after its last flip even when the task that closes it is not running.
_RULES = """
    (SELECT version FROM checks_catalogversion WHERE in_force) AS version,
    (SELECT array_agg(b.item) FROM checks_breakertrip b WHERE b.cluster_id = c.id AND b.ended_at IS NULL
        AND b.last_flip_at > %(now)s - interval '30 minutes') AS suspects,
    (SELECT h.at FROM checks_heartbeat h WHERE h.name = 'sweep') AS sweep_at
"""
_OF_TOKEN = f"""
    SELECT {_TOKEN_COLUMNS}, n.hostname, {_CLUSTER_COLUMNS}, {_RULES}
    FROM checks_token t
    LEFT JOIN checks_node n ON n.id = t.node_id
    LEFT JOIN checks_cluster c ON c.slug = %(slug)s AND c.closed_at IS NULL AND (
        c.id = t.cluster_id OR c.id = n.cluster_id
        OR EXISTS (SELECT FROM checks_token_clusters m WHERE m.token_id = t.id AND m.cluster_id = c.id))
    WHERE t.key = %(key)s
"""  # noqa: S608
_OF_PERSON = f"""
    SELECT {_CLUSTER_COLUMNS}, {_RULES}
    FROM checks_cluster c
    WHERE c.slug = %(slug)s AND c.closed_at IS NULL AND (
        %(all)s OR EXISTS (SELECT FROM checks_membership m WHERE m.cluster_id = c.id AND m.user_id = %(user)s))
"""  # noqa: S608
