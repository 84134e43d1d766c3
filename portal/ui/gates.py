"""Five gates as people read them: who signed, who still has to, and whether a layer is open.

*Signed is not open*: a gate opens when its layer is signed and enough signed nodes still hold what was signed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from checks.domain.signoff import LayerState, SignState
from checks.domain.verdicts import Layer, Verdict
from checks.models import Signature
from checks.selectors.nodesets import fold_node_set
from checks.selectors.packages import PackageView, RunState
from checks.selectors.pages_run import hosts_of
from portal.accounts.models import User
from portal.ui import words
from portal.ui.sign_words import why_not_said
from portal.ui.words import WORST_FIRST

_LAPSED = (SignState.OUTDATED, SignState.EXPIRED, SignState.REVOKED)


@dataclass(frozen=True, slots=True)
class Slot:
    """One line on the document: signed, lapsed (``was`` says how), or waiting for somebody."""

    role: str
    name: str = ""
    at: datetime | None = None
    meaning: str = ""
    until: datetime | None = None
    was: str = ""
    note: str = ""
    people: str = ""
    mine: bool = False
    giver: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """One layer of one run."""

    layer: str
    state: str
    slots: tuple[Slot, ...]
    is_open: bool
    shape: str
    says: str
    counts: tuple[tuple[str, int], ...]
    signable: bool
    mine: bool
    sign_href: str
    digest: str
    missing: tuple[str, ...]
    round: int
    in_the_way: int

    @property
    def people_asked(self) -> int:
        """How many people the policy asks for."""
        return len(self.slots)


def gates_of(
    state: RunState,
    views: Mapping[Layer, PackageView],
    *,
    counts: Mapping[Layer, Mapping[Verdict, int]],
    people: Mapping[str, Sequence[str]],
    reader: User,
    roles: frozenset[str],
) -> tuple[Gate, ...]:
    """All five, for one reader."""
    return tuple(_gate(state, views[layer], counts[layer], people, reader, roles) for layer in Layer)


def _gate(
    state: RunState,
    view: PackageView,
    counts: Mapping[Verdict, int],
    people: Mapping[str, Sequence[str]],
    reader: User,
    roles: frozenset[str],
) -> Gate:
    standing, signatures = view.state, state.signatures[view.layer]
    counting = [one for one in signatures if one.pk in standing.counting]
    has_signed = any(one.signer_id == reader.pk for one in counting)
    mine = {role for role in standing.missing_roles if role in roles and not has_signed}
    short = still_short(state, view)
    opens = standing.signed and not short
    return Gate(
        layer=view.layer.value,
        state=standing.state.value,
        slots=tuple(_slot(role, state, view, people, mine) for role in view.policy.roles),
        is_open=opens,
        shape=_shape(opens, counts, standing),
        says=_says(state, view, short),
        counts=tuple((verdict, counts[Verdict(verdict)]) for verdict in WORST_FIRST if counts.get(Verdict(verdict))),
        signable=view.signable,
        mine=bool(mine) and view.signable,
        sign_href=reverse("ui:sign", args=[state.run.slug, view.layer.value]),
        digest=standing.digest or view.package.digest,
        missing=standing.missing_roles,
        round=standing.round,
        in_the_way=0
        if opens
        else len({(one.item, one.subject if not one.node else one.code) for one in view.blockers}),
    )


def still_short(state: RunState, view: PackageView) -> int:
    """How many nodes a signed layer lacks: those that hold, of those that it covers, against those the job needs.

    Anything wrong that is not a node's leaves it without any.
    """
    if any(not blocker.node for blocker in view.blockers):
        return state.run.nodes_needed
    left_out = {node.uuid for node in view.left_out}
    covered = state.packages[view.layer].nodes.keys() - left_out - view.state.outdated_nodes
    return max(0, state.run.nodes_needed - len(covered))


def _slot(role: str, state: RunState, view: PackageView, people: Mapping[str, Sequence[str]], mine: set[str]) -> Slot:
    standing = view.state
    newest = [one for one in state.signatures[view.layer] if one.round == standing.round and one.role == role]
    if newest and newest[-1].pk in standing.counting:
        return _signed(newest[-1], state, standing)
    waits = Slot(role, people=", ".join(people.get(role, ())), mine=role in mine)
    if not newest or standing.state not in (*_LAPSED, SignState.UNSIGNED):
        return waits
    one = newest[-1]
    return Slot(
        role, one.printed_name, one.signed_at, one.meaning, was=_was(standing), people=waits.people, mine=waits.mine,
        note=why_not_said(one, state, view.layer), giver=_giver(one),
    )  # fmt: skip


def _signed(one: Signature, state: RunState, standing: LayerState) -> Slot:
    uncovered = hosts_of(state, standing.outdated_nodes)
    note = _("%(nodes)s not covered") % {"nodes": fold_node_set(uncovered)} if uncovered else ""
    return Slot(one.role, one.printed_name, one.signed_at, one.meaning, one.expires_at, note=note, giver=_giver(one))


def _giver(one: Signature) -> str:
    return str(one.delegation.giver) if one.delegation else ""


def _was(standing: LayerState) -> str:
    """How a lapsed round is drawn; one that ended for its signers' sake is drawn as outdated."""
    return standing.state.value if standing.state in _LAPSED else SignState.OUTDATED.value


def _shape(opens: bool, counts: Mapping[Verdict, int], standing: LayerState) -> str:
    """The stop on the rail: the worst that is known of the layer, and a tick only where it is open."""
    if opens:
        return "pass"
    for verdict in (Verdict.FAIL, Verdict.UNKNOWN, Verdict.STALE):
        if counts.get(verdict):
            return verdict.value
    return "warn" if standing.state in _LAPSED else "na"


def _says(state: RunState, view: PackageView, short: int) -> str:
    """Open, or closed and why, in a few words."""
    standing, missing = view.state, len(view.state.missing_roles)
    if standing.signed:
        if not short:
            return _("open")
        said = ngettext("closed: one node short", "closed: %(n)d nodes short", short)
        whole = any(not blocker.node for blocker in view.blockers)
        return _("closed: something that no node holds does not hold") if whole else said % {"n": short}
    if standing.state in _LAPSED:
        return _("closed: %(state)s, sign again") % {"state": words.SIGN_STATES[standing.state.value]}
    if not view.signable:
        return _("closed: cannot be signed yet")
    return ngettext("closed: one signature missing", "closed: %(n)d signatures missing", missing) % {"n": missing}
