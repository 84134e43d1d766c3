"""Fingerprints of nodes as the domain compares them: those of now, or those of a moment in the past."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from django.db import connection
from django.db.models import Q

from checks.domain.drift.noise import Noise
from checks.domain.drift.prints import Base, Print
from checks.models import Cluster, Fingerprint, Node
from checks.selectors.rules import catalogue_in_force

_NOTHING: Final[Mapping[str, Any]] = {}

# What a node has besides its base; what is noise by the filter in force is left where it lies.
_TOLD = """
    SELECT had.hostname, had.sha256, f.base_id, had.seen_at,
           CASE WHEN f.base_id IS NOT NULL THEN f.quiet::text END,
           CASE WHEN f.base_id IS NOT NULL AND f.filter <> %(filter)s THEN f.noisy::text END
    FROM had
    JOIN checks_fingerprint f ON f.sha256 = had.sha256
    ORDER BY had.hostname
"""
_NOW = """
    WITH had AS (
        SELECT n.hostname, held.fingerprint_id AS sha256, held.seen_at
        FROM checks_nodefingerprint held
        JOIN checks_node n ON n.id = held.node_id
        WHERE held.node_id = ANY(%(nodes)s)
    )
"""
_THEN = """
    WITH had AS (
        SELECT DISTINCT ON (c.node_id) n.hostname, c.sha256, c.at AS seen_at
        FROM checks_fingerprintchange c
        JOIN checks_node n ON n.id = c.node_id
        WHERE c.node_id = ANY(%(nodes)s) AND c.at <= %(at)s
        ORDER BY c.node_id, c.at DESC, c.id DESC
    )
"""


@dataclass(frozen=True, slots=True)
class Prints:
    """Fingerprints of *asked* nodes, as far as they are known; ``oldest`` was not heard of for longest."""

    prints: tuple[Print, ...]
    asked: int
    oldest: tuple[str, datetime] | None


def noise_in_force() -> Noise:
    """The filter of the catalogue in force."""
    return catalogue_in_force().noise


def cohort_of(cluster: Cluster, profile: str) -> tuple[UUID, ...]:
    """The nodes of *cluster* that should be alike: those of one hardware profile."""
    nodes = Node.objects.filter(cluster=cluster, retired_at=None).order_by()
    alike = Q(profile=profile) | Q(profile="") if profile == cluster.profile else Q(profile=profile)
    return tuple(nodes.filter(alike).values_list("pk", flat=True))


def profiles_in(cluster: Cluster) -> tuple[str, ...]:
    """The hardware profiles of the cluster's nodes, its own first."""
    own = Node.objects.filter(cluster=cluster, retired_at=None).exclude(profile="").values_list("profile", flat=True)
    return (cluster.profile, *sorted({*own} - {cluster.profile}))


def prints_now(nodes: Sequence[UUID]) -> Prints:
    """What *nodes* are set to now."""
    return _told(_rows(_NOW, nodes), None, len(nodes))


def prints_at(nodes: Sequence[UUID], at: datetime) -> Prints:
    """What *nodes* were set to at that moment; those that had sent nothing by then are not among them."""
    return _told(_rows(_THEN, nodes, at=at), None, len(nodes))


@dataclass(frozen=True, slots=True)
class SinceThen:
    """Fingerprints of the same nodes at a moment and now, told by the same bases."""

    before: Prints
    after: Prints


def prints_since(nodes: Sequence[UUID], at: datetime) -> SinceThen:
    """What *nodes* were set to at that moment, and what they are set to now."""
    then, now = _rows(_THEN, nodes, at=at), _rows(_NOW, nodes)
    bases = _bases(_digests([*then, *now]))
    return SinceThen(_told(then, bases, len(nodes)), _told(now, bases, len(nodes)))


_Row = tuple[str, str, str | None, datetime, str | None, str | None]


def _rows(had: str, nodes: Sequence[UUID], **more: datetime) -> list[_Row]:
    with connection.cursor() as cursor:
        cursor.execute(had + _TOLD, {"nodes": list(nodes), "filter": noise_in_force().digest, **more})
        rows: list[_Row] = cursor.fetchall()
    return rows


def _digests(rows: Iterable[_Row]) -> set[str]:
    return {base or sha256 for _, sha256, base, *_ in rows}


def _told(rows: Sequence[_Row], bases: Mapping[str, Base] | None, asked: int) -> Prints:
    bases = _bases(_digests(rows)) if bases is None else bases
    prints = tuple(
        Print(name, bases[base or sha256], _own(quiet, noisy)) for name, sha256, base, _, quiet, noisy in rows
    )
    oldest = min(((name, seen_at) for name, _, _, seen_at, *_ in rows), key=lambda one: one[1], default=None)
    return Prints(prints, asked, oldest)


def _own(quiet: str | None, noisy: str | None) -> Mapping[str, Any]:
    if quiet is None or (quiet == "{}" and noisy is None):
        return _NOTHING
    own: dict[str, Any] = msgspec.json.decode(quiet)
    return own if noisy is None else own | msgspec.json.decode(noisy)


def _bases(digests: set[str]) -> dict[str, Base]:
    rows = Fingerprint.objects.filter(pk__in=digests).values_list("sha256", "kinds", "quiet", "noisy")
    return {sha256: Base(frozenset(kinds), {**quiet, **noisy}) for sha256, kinds, quiet, noisy in rows}
