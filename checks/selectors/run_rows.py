"""What a run's question brings from the database, typed, and as the domain and its neighbours want it."""

import json
import zlib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from checks.domain.forcing import OverrideFacts
from checks.domain.package import Package, WaiverFacts
from checks.domain.policy import DEFAULT_POLICY, Policy
from checks.domain.signoff import SignatureFacts
from checks.domain.verdicts import Cadence, Layer
from checks.models import Cluster, LedgerEntry, Run, ScopeState
from checks.selectors.contributors import EDITS, Acts, Round, Stated
from checks.selectors.gate_context import GateCluster
from checks.selectors.gate_rows import BadState, GateRows, Rules
from checks.selectors.policies import PolicyInForce
from checks.selectors.pool_rows import PoolNode
from checks.selectors.prepared import fetch_row
from checks.selectors.run_sql import CHANGED, RUN_ON_NAMED, RUN_ON_POOL

_MOST_KEPT: Final = 64
#: What was signed never changes, and its digest names it: a process reads each manifest once.
_manifests: dict[str, Package] = {}


class PoolRow(msgspec.Struct, array_like=True, frozen=True):
    """One node of the run's pool, in the order of ``run_sql``."""

    uuid: str
    hostname: str
    profile: str
    trouble: str
    origin: str
    retired: bool
    judged_under: str
    digests: dict[str, str]
    tick_until: datetime | None
    daily_until: datetime | None

    def node(self) -> PoolNode:
        """The node as signing sees it."""
        return PoolNode(
            uuid=self.uuid, hostname=self.hostname, profile=self.profile, trouble=self.trouble, origin=self.origin,
            retired=self.retired, judged_under=self.judged_under, digests=self.digests,
            until={Cadence.TICK: self.tick_until, Cadence.DAILY: self.daily_until},
        )  # fmt: skip


class SignatureRow(msgspec.Struct, frozen=True):
    """One signature of the newest round of its layer, and what its people are now."""

    id: int
    layer: Layer
    role: str
    signer: int
    digest: str
    round: int
    signed_at: datetime
    expires_at: datetime | None
    revoked: bool
    active: bool
    holds_role: bool
    delegated: bool
    delegated_from: datetime | None
    delegated_until: datetime | None
    delegation_stands: bool

    def facts(self, *, contributor: bool, now: datetime) -> SignatureFacts:
        """The signature as the domain reads it."""
        return SignatureFacts(
            id=self.id, role=self.role, signer=str(self.signer), digest=self.digest, round=self.round,
            signed_at=self.signed_at, expires_at=self.expires_at, revoked=self.revoked, active=self.active,
            holds_role=self.holds_role, delegation_ok=not self.delegated or self._is_delegated(now),
            contributor=contributor,
        )  # fmt: skip

    def _is_delegated(self, now: datetime) -> bool:
        begins, ends = self.delegated_from, self.delegated_until
        return self.delegation_stands and begins is not None and ends is not None and begins <= now < ends


class WaiverRow(msgspec.Struct, frozen=True):
    """One waiver in force."""

    id: int
    layer: Layer
    item: str
    nodes: list[str]
    until: datetime

    def facts(self) -> WaiverFacts:
        """The waiver as the domain reads it."""
        return WaiverFacts(str(self.id), self.layer, self.item, frozenset(self.nodes), self.until)


class OverrideRow(msgspec.Struct, frozen=True):
    """The newest override that nobody took back."""

    accepted: list[tuple[str, str, str, str]]
    pool: list[str]
    until: datetime

    def facts(self) -> OverrideFacts:
        """The override as the domain reads it."""
        return OverrideFacts(frozenset(self.accepted), frozenset(self.pool), self.until)


class ManifestRow(msgspec.Struct, frozen=True):
    """What was signed under one digest."""

    digest: str
    header: dict[str, Any]
    shared: str
    nodes: dict[str, str]


class BasisRow(msgspec.Struct, frozen=True):
    """One layer as it stood when the run started."""

    layer: Layer
    digest: str
    round: int
    signatures: list[int]


class StartedRow(msgspec.Struct, frozen=True):
    """What the run's start froze, and which of its signatures were revoked since."""

    basis: list[BasisRow]
    restart_until: datetime
    revoked: list[int] | None


class EditRow(msgspec.Struct, frozen=True):
    """An act of a signer that may have touched what was signed."""

    seq: int
    what: str
    target: str
    at: datetime
    who_id: int
    data: dict[str, Any]

    def entry(self) -> LedgerEntry:
        """The act as the ledger has it."""
        return LedgerEntry(**msgspec.structs.asdict(self))


class RunRows(msgspec.Struct, frozen=True):
    """All that is stored of one run and decides what the gate says; None where there is nothing."""

    columns: dict[str, Any]
    policy: tuple[int, dict[str, Any]] | None
    pool: list[PoolRow] | None
    shared: list[dict[str, Any]] | None
    waivers: list[WaiverRow] | None
    failed: list[tuple[str, str]] | None
    override: OverrideRow | None
    signatures: list[SignatureRow] | None
    manifests: list[ManifestRow] | None
    started: StartedRow | None
    stated: list[Stated] | None
    stated_until: datetime | None
    edits: list[EditRow] | None
    rounds: list[Round] | None

    def run(self, cluster: Cluster) -> Run:
        """The run, of *cluster*."""
        columns = dict(self.columns)
        for name in ("planned_start", "planned_end"):
            columns[name] = datetime.fromisoformat(columns[name])
        return Run(**columns, cluster=cluster)

    def policy_in_force(self) -> PolicyInForce:
        """The policy that two people agreed on, or the default."""
        return (
            PolicyInForce(self.policy[0], Policy.read(self.policy[1]))
            if self.policy
            else PolicyInForce(0, DEFAULT_POLICY)
        )

    def acts(self) -> Acts:
        """What the run's signers did that may have lent a hand to what they signed."""
        return Acts(self.stated or (), self.rounds or (), [edit.entry() for edit in self.edits or ()])

    def scope_states(self) -> list[ScopeState]:
        """The rows that no node holds."""
        return [ScopeState(**_with_times(row)) for row in self.shared or ()]


class LaunchRows(GateRows, frozen=True):
    """Everything that a run's question needs: its nodes' rows, those that are not settled, and the run's own."""

    unsettled: list[BadState] | None
    run: RunRows | None


class Changed(msgspec.Struct, frozen=True):
    """Signed leaves by digest, and the identity values that are known now: (node, item, subject, values)."""

    snapshot: str
    leaves: dict[str, str] | None
    known: list[tuple[str, str, str, dict[str, Any]]] | None

    def stored_leaves(self) -> dict[str, list[Mapping[str, Any]]]:
        """The leaves behind each digest."""
        return {digest: json.loads(zlib.decompress(b64decode(body))) for digest, body in (self.leaves or {}).items()}


_DECODER: Final = msgspec.json.Decoder(LaunchRows)
_CHANGED_DECODER: Final = msgspec.json.Decoder(Changed)


def read_launch(
    cluster: GateCluster, run: str, nodes: Sequence[str] | None, *, every: bool, rules: Rules, now: datetime
) -> tuple[LaunchRows, dict[str, Package]]:
    """One statement: the run and the asked nodes (None: its pool), with rows that close the question; *every* one of
    them, or no more than an answer shows.

    The second value is what the run's signatures, and those of its start, name: packages by digest.
    """
    known = dict(_manifests)
    parameters = {
        "cluster": cluster.id,
        "profile": cluster.profile,
        "rules": msgspec.json.encode(cluster.judged_under).decode(),
        "nodes": list(nodes or ()),
        "level": 1,
        "uniform": sorted(frozenset().union(*(one.compared for one in rules.values()))),
        "now": now,
        "run": run,
        "every": every,
        "edits": list(EDITS),
        "known": list(known),
    }
    row = fetch_row(RUN_ON_POOL if nodes is None else RUN_ON_NAMED, parameters)
    assert row is not None  # noqa: S101  (an aggregate has one row)
    rows = _DECODER.decode(row[0])
    return rows, known | _remember(rows.run) if rows.run else {}


def read_changed(digests: Sequence[str], nodes: Sequence[str]) -> Changed:
    """One statement: the leaves behind *digests*, and what is known now of the identity of *nodes* (uuids)."""
    row = fetch_row(CHANGED, {"digests": list(digests), "nodes": list(nodes)})
    assert row is not None  # noqa: S101  (it has no table)
    return _CHANGED_DECODER.decode(row[0])


def _remember(rows: RunRows) -> dict[str, Package]:
    """The manifests that this process had not read yet, kept for the next question."""
    layers = {one.digest: one.layer for one in rows.signatures or ()}
    layers |= {one.digest: one.layer for one in (rows.started.basis if rows.started else ())}
    found = {one.digest: Package(layers[one.digest], one.header, one.shared, one.nodes) for one in rows.manifests or ()}
    if len(_manifests) + len(found) > _MOST_KEPT:
        _manifests.clear()
    _manifests.update(found)
    return found


def _with_times(row: dict[str, Any]) -> dict[str, Any]:
    times = {name: datetime.fromisoformat(row[name]) for name in ("observed_at", "valid_until") if row[name]}
    return row | times
