"""Who asks the gate, about which cluster, under which rules: the gate's first statement."""

from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import msgspec

from checks.domain.answers import NO_MAINTENANCE, Maintenance
from checks.domain.cost.waiting import GpuPrice
from checks.domain.errors import CountersignError
from checks.domain.windows import DailyWindow, WindowKind, known_zone, last_moment_of, maintenance_at
from checks.models import Cluster, Token
from checks.selectors.gate_memory import Kept, Memory
from checks.selectors.prepared import Statement, fetch_row

_memory: Memory[tuple["Asker", "GateContext | None"]] = Memory()


class NoSuchCluster(CountersignError):
    """Not there, closed, or not the asker's: a stranger cannot tell which."""

    code = "not_found"
    status = 404

    def __init__(self, slug: str) -> None:
        super().__init__(f"You know no cluster {slug!r}; check the name, or ask for a token or a role in it.")


class NoSuchRun(CountersignError):
    """Not there, or in a cluster that is not the asker's: a stranger cannot tell which."""

    code = "not_found"
    status = 404

    def __init__(self, slug: str) -> None:
        super().__init__(f"You know no run {slug!r}; check the name, or ask for a role or a token in its cluster.")


class GateCluster(msgspec.Struct, frozen=True):
    """What an answer needs to know of its cluster. ``judged_under``: the rules in force, by hardware profile."""

    id: int
    slug: str
    profile: str
    interval_s: int
    judged_under: dict[str, str]
    health_serves_as_launch: bool = False
    time_zone: str = "UTC"

    @classmethod
    def of(cls, cluster: Cluster) -> "GateCluster":
        """The same of a cluster that was read already."""
        return cls(**{name: getattr(cluster, name) for name in cls.__struct_fields__})


@dataclass(frozen=True, slots=True)
class GateContext:
    """What one statement tells before any node is looked at.

    ``suspect_items`` have an open circuit breaker: they failed on so many nodes at once that the check itself is in
    doubt. ``sweep_at`` is when missing evidence was last written down (None: never). ``windows`` are the cluster's;
    ``price`` is what an hour of one of its GPUs costs (None: nobody said). All was read in ``snapshot``.
    """

    cluster: GateCluster
    catalog_version: str
    suspect_items: frozenset[str]
    sweep_at: datetime | None
    snapshot: str
    windows: tuple[DailyWindow, ...] = ()
    price: GpuPrice | None = None

    def maintenance(self, now: datetime) -> tuple[Maintenance, tuple[datetime, ...]]:
        """Whether a maintenance window is open at *now*, and the last moment at which that holds, if it ever changes.

        A time zone that nobody knows opens none.
        """
        zone = known_zone(self.cluster.time_zone) if self.windows else None
        if zone is None:
            return NO_MAINTENANCE, ()
        last = last_moment_of(self.windows, zone, now)
        return maintenance_at(self.windows, zone, now), () if last is None else (last,)


@dataclass(frozen=True, slots=True)
class Asker:
    """A token as it is stored, and the host name of its node where it is an agent's (empty otherwise)."""

    token: Token
    hostname: str


def context_of_token(
    *, key: str, cluster: str = "", run: str = "", now: datetime
) -> tuple[Asker, GateContext | None] | None:
    """The token with the public part *key*, and the cluster by its name or by that of one of its runs, in one
    statement; None when there is no such token.

    What the process knows already is not told again: the statement says only that nothing has changed.

    The context is None where the cluster does not exist, is closed, or is not bound to the token: the three look alike
    from outside. The caller has to check the secret before it tells anything.
    """
    question = key, cluster, run
    kept = _memory.find(question, now=now)
    snapshot = kept.snapshot if kept is not None else ""
    parameters = {"key": key, "slug": run or cluster, "now": now, "known": snapshot}
    row = fetch_row(_OF_TOKEN_BY_RUN if run else _OF_TOKEN, parameters)
    if row is None:
        return None
    if kept is not None and row[0] is None:
        return kept.what
    found = _DECODER.decode(row[0])
    token = Token(**msgspec.structs.asdict(found.token)) if found.token else Token()
    told = Asker(token, found.hostname or ""), _context(found)
    _memory.keep(question, Kept(told, found.snapshot, now, found.suspects_until))
    return told


def context_of_person(*, user: Any, cluster: str, now: datetime) -> GateContext | None:
    """The cluster as a signed-in person may ask about it: one they have a role in, and a superuser every one."""
    row = fetch_row(_OF_PERSON, {"user": user.pk, "every": user.is_superuser, "slug": cluster, "now": now})
    return _context(_DECODER.decode(row[0])) if row else None


def context_of_cluster(cluster: Cluster, *, now: datetime) -> GateContext:
    """The cluster as the portal itself asks about it.

    Raises:
        NoSuchCluster: it is closed.
    """
    row = fetch_row(_OF_PERSON, {"user": None, "every": True, "slug": cluster.slug, "now": now})
    context = _context(_DECODER.decode(row[0])) if row else None
    if context is None:
        raise NoSuchCluster(cluster.slug)
    return context


class _TokenRow(msgspec.Struct, frozen=True):
    """The columns that checking a token needs."""

    id: int
    kind: str
    scopes: list[str]
    key: str
    digest: str
    pepper: int
    networks: list[str]
    uses_left: int | None
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    cluster_id: int | None
    node_id: UUID | None


class _Found(msgspec.Struct, frozen=True):
    token: _TokenRow | None
    hostname: str | None
    cluster: GateCluster | None
    version: str | None
    suspects: list[str] | None
    suspects_until: datetime | None
    sweep_at: datetime | None
    snapshot: str
    windows: list[tuple[WindowKind, time, time]] | None
    price: tuple[str, str, datetime] | None


_DECODER: Final = msgspec.json.Decoder(_Found)


def _context(found: _Found) -> GateContext | None:
    if found.cluster is None:
        return None
    suspects = frozenset(found.suspects or ())
    windows = tuple(DailyWindow(*one) for one in found.windows or ())
    price = GpuPrice(Decimal(found.price[0]), *found.price[1:]) if found.price else None
    return GateContext(found.cluster, found.version or "", suspects, found.sweep_at, found.snapshot, windows, price)


def _object(alias: str, row: type[msgspec.Struct]) -> str:
    """The columns of *row* as one JSON object; null where the joined table has no row."""
    pairs = ", ".join(f"'{name}', {alias}.{name}" for name in row.__struct_fields__)
    return f"CASE WHEN {alias}.id IS NOT NULL THEN json_build_object({pairs}) END"


# A breaker ends 30 minutes after its last flip even when the task that closes it is not running.
_OPEN = """
    FROM checks_breakertrip b WHERE b.cluster_id = c.id AND b.ended_at IS NULL
        AND b.last_flip_at > %(now)s - interval '30 minutes'
"""
_RULES = f"""
    'cluster', {_object("c", GateCluster)},
    'version', (SELECT version FROM checks_catalogversion WHERE in_force),
    'suspects', (SELECT json_agg(b.item) {_OPEN}),
    'suspects_until', (SELECT min(b.last_flip_at) + interval '30 minutes' - interval '1 microsecond' {_OPEN}),
    'sweep_at', (SELECT h.at FROM checks_heartbeat h WHERE h.name = 'sweep'),
    'windows', (SELECT json_agg(json_build_array(w.kind, w.opens, w.closes)) FROM checks_maintenancewindow w
        WHERE w.cluster_id = c.id AND w.ended_at IS NULL),
    'price', (SELECT json_build_array(p.amount::text, p.reason, p.at) FROM checks_clusterprice p
        WHERE p.cluster_id = c.id ORDER BY p.id DESC LIMIT 1),
    'snapshot', pg_current_snapshot()::text
"""  # noqa: S608


def _of_token(is_asked: str) -> Statement:
    return Statement.of(f"""
        SELECT CASE WHEN NOT same THEN
            json_build_object('token', {_object("t", _TokenRow)}, 'hostname', n.hostname, {_RULES})::text END
        FROM (SELECT pg_current_snapshot()::text = %(known)s AS same) AS s
        LEFT JOIN LATERAL (SELECT * FROM checks_token WHERE NOT same AND key = %(key)s) AS t ON true
        LEFT JOIN checks_node n ON n.id = t.node_id
        LEFT JOIN checks_cluster c ON {is_asked} AND c.closed_at IS NULL AND t.id IS NOT NULL AND (
            c.id = t.cluster_id OR c.id = n.cluster_id
            OR EXISTS (SELECT FROM checks_token_clusters m WHERE m.token_id = t.id AND m.cluster_id = c.id))
        WHERE same OR t.id IS NOT NULL
    """)  # noqa: S608


_OF_TOKEN: Final = _of_token("c.slug = %(slug)s")
_OF_TOKEN_BY_RUN: Final = _of_token("c.id = (SELECT r.cluster_id FROM checks_run r WHERE r.slug = %(slug)s)")
_OF_PERSON: Final = Statement.of(f"""
    SELECT json_build_object('token', NULL, 'hostname', NULL, {_RULES})::text
    FROM checks_cluster c
    WHERE c.slug = %(slug)s AND c.closed_at IS NULL AND (
        %(every)s::boolean
        OR EXISTS (SELECT FROM checks_membership m WHERE m.cluster_id = c.id AND m.user_id = %(user)s))
""")  # noqa: S608
