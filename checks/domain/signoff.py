"""Whether a layer is signed: a pure function of its signatures, of what there is to sign now, and of the clock.

Signatures come in *rounds*, and only the newest round counts. A round stands while every one of its signatures counts;
as soon as one does not (it was revoked, it ended, its signer lost the role, what it names changed), the whole round is
over and all roles sign again, in a new round. So nobody is ever stuck: also the same digest can be signed again.

A complete round keeps counting while header and shared branch are what was signed and at least as many pool nodes as
the job needs are unchanged; those that did change are no longer covered. A round that still lacks a signature counts
only while all that it names is unchanged, and is completed by signing the very same digest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from checks.domain.freshness import is_stale
from checks.domain.package import Difference, Package, compare
from checks.domain.policy import LayerPolicy

#: How much longer than planned a run may come back, as a part of its planned length, unless its signers say otherwise.
_RESTART_MARGIN: Final = 0.2


class SignState(StrEnum):
    """What the signatures of a layer amount to, now."""

    UNSIGNED = "unsigned"
    HALF = "half"
    SIGNED = "signed"
    OUTDATED = "outdated"
    EXPIRED = "expired"
    REVOKED = "revoked"


class WhyNot(StrEnum):
    """Why one signature does not count. The codes are part of the API."""

    SUPERSEDED = "superseded"  # a newer round was opened
    REVOKED = "revoked"
    OUTDATED = "outdated"  # what it names changed
    EXPIRED = "expired"
    INACTIVE = "inactive"  # its signer's account was closed
    ROLE_ENDED = "role_ended"
    DELEGATION_ENDED = "delegation_ended"
    CONTRIBUTOR = "contributor"  # its signer entered or overrode a result in the package, or changed its thresholds
    ROLE_NOT_ASKED = "role_not_asked"  # the policy does not ask for its role
    SAME_ROLE = "same_role"  # its role had signed already
    SAME_PERSON = "same_person"  # its signer had signed already, in another role
    OTHER_DIGEST = "other_digest"  # the round's first signature names another digest
    ROUND_OVER = "round_over"  # another signature of its round does not count


@dataclass(frozen=True, slots=True)
class SignatureFacts:
    """One signature, and what is known of its signer now.

    ``signer`` is the person's key. ``holds_role`` and ``active`` speak of now; ``delegation_ok`` is true where the
    signature needs no delegation. ``contributor``: the signer had a hand in what the package holds.
    """

    id: int
    role: str
    signer: str
    digest: str
    round: int
    signed_at: datetime
    expires_at: datetime | None = None
    revoked: bool = False
    active: bool = True
    holds_role: bool = True
    delegation_ok: bool = True
    contributor: bool = False


@dataclass(frozen=True, slots=True)
class LayerState:
    """What a layer's signatures amount to at one time.

    ``counting`` are ids of signatures that count, ``missing_roles`` those that still have to sign, in the policy's
    order. ``outdated_nodes`` are pool nodes that a signed layer does not cover (any more). ``changed`` says how what is
    there now differs from what the round signed. ``until`` is the next moment at which a counting signature ends.
    ``digest`` is what the round signed; a *half* one is completed by signing that.
    """

    state: SignState
    round: int
    counting: tuple[int, ...]
    missing_roles: tuple[str, ...]
    outdated_nodes: frozenset[str] = frozenset()
    changed: Difference | None = None
    until: datetime | None = None
    why_not: Mapping[int, WhyNot] = field(default_factory=dict)
    digest: str = ""

    @property
    def signed(self) -> bool:
        """Whether a start may rest on this layer."""
        return self.state is SignState.SIGNED


def layer_state(
    signatures: Collection[SignatureFacts],
    package: Package,
    signed_packages: Mapping[str, Package],
    policy: LayerPolicy,
    nodes_needed: int,
    now: datetime,
) -> LayerState:
    """What *signatures* of one layer of one run amount to at *now*.

    *package* is what there is to sign now, over every node of the pool; *signed_packages* are the signed ones by
    digest, of which one that is missing counts as outdated. *nodes_needed* is how many nodes the job needs.
    """
    if not signatures:
        return LayerState(SignState.UNSIGNED, 0, (), policy.roles)
    newest = max(one.round for one in signatures)
    current = sorted((one for one in signatures if one.round == newest), key=lambda one: one.id)
    changed = _difference(current[0], package, signed_packages)
    complete = {one.role for one in current} >= set(policy.roles)
    holds = _holds(changed, package, nodes_needed if complete else None)
    faults = {one.id: fault for one, fault in _faults(current, policy, holds, now) if fault}
    older = {one.id: WhyNot.SUPERSEDED for one in signatures if one.round < newest}
    if faults:
        over = {one.id: faults.get(one.id, WhyNot.ROUND_OVER) for one in current}
        state = _state_after(set(faults.values()))
        return LayerState(
            state, newest, (), policy.roles, changed=changed, why_not=over | older, digest=current[0].digest
        )
    signed = {one.role for one in current}
    return LayerState(
        state=SignState.SIGNED if complete else SignState.HALF,
        round=newest,
        counting=tuple(one.id for one in current),
        missing_roles=tuple(role for role in policy.roles if role not in signed),
        outdated_nodes=changed.uncovered if complete and changed else frozenset(),
        changed=changed,
        until=min((one.expires_at for one in current if one.expires_at is not None), default=None),
        why_not=older,
        digest=current[0].digest,
    )


def next_round(state: LayerState, digest: str) -> int:
    """The round of the next signature, which names *digest*: the standing one where it completes that, else a new one.

    *state* is the layer's under the package's lock. Where its ``missing_roles`` is empty and *digest* is the one that
    was signed, everybody has signed: there is nothing to add.
    """
    stands = state.counting and state.digest == digest
    return state.round if stands else state.round + 1


def restart_until(planned_start: datetime, planned_end: datetime) -> datetime:
    """Until when a run may come back after an interruption, unless its signers say otherwise: a fifth longer."""
    margin: timedelta = (planned_end - planned_start) * _RESTART_MARGIN
    return planned_end + margin


def _difference(first: SignatureFacts, package: Package, signed_packages: Mapping[str, Package]) -> Difference | None:
    signed = signed_packages.get(first.digest)
    return None if signed is None else compare(signed, package)


def _holds(changed: Difference | None, package: Package, nodes_needed: int | None) -> bool:
    """Whether what was signed still holds; *nodes_needed* is None for a round that has to hold to the last node."""
    if changed is None or changed.of_the_whole:
        return False
    if nodes_needed is None:
        return not changed.nodes
    return len(package.nodes) - len(changed.nodes & package.nodes.keys()) - len(changed.added) >= nodes_needed


def _faults(
    current: Sequence[SignatureFacts], policy: LayerPolicy, holds: bool, now: datetime
) -> Iterator[tuple[SignatureFacts, WhyNot | None]]:
    """Each signature of a round with what is wrong with it."""
    roles: set[str] = set()
    signers: set[str] = set()
    for one in current:
        fault = _fault(one, policy, holds, now)
        if fault is None and one.digest != current[0].digest:
            fault = WhyNot.OTHER_DIGEST
        elif fault is None and one.role in roles:
            fault = WhyNot.SAME_ROLE
        elif fault is None and one.signer in signers:
            fault = WhyNot.SAME_PERSON
        roles.add(one.role)
        signers.add(one.signer)
        yield one, fault


def _fault(one: SignatureFacts, policy: LayerPolicy, holds: bool, now: datetime) -> WhyNot | None:
    """What is wrong with a signature by itself, gravest first."""
    faults = (
        (one.revoked, WhyNot.REVOKED),
        (not holds, WhyNot.OUTDATED),
        (is_stale(one.expires_at, now), WhyNot.EXPIRED),
        (not one.active, WhyNot.INACTIVE),
        (not one.holds_role, WhyNot.ROLE_ENDED),
        (not one.delegation_ok, WhyNot.DELEGATION_ENDED),
        (one.contributor and not policy.contributors_may_sign, WhyNot.CONTRIBUTOR),
        (one.role not in policy.roles, WhyNot.ROLE_NOT_ASKED),
    )
    return next((fault for found, fault in faults if found), None)


def _state_after(faults: Collection[WhyNot]) -> SignState:
    """What a round is called that is over. One that ended for its signers' sake leaves the layer unsigned."""
    for fault, state in _STATE_AFTER.items():
        if fault in faults:
            return state
    return SignState.UNSIGNED


_STATE_AFTER: Final = {
    WhyNot.REVOKED: SignState.REVOKED,
    WhyNot.OUTDATED: SignState.OUTDATED,
    WhyNot.EXPIRED: SignState.EXPIRED,
}
