"""One run: may it start, what is missing, who can give it, and what was done about it so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from checks.domain.answers import Answer, Basis
from checks.domain.errors import CountersignError
from checks.domain.verdicts import Decision, Layer, Purpose, Reason
from checks.models import OVER, LedgerEntry, Override, Run, RunStart, Stage, Waiver
from checks.selectors.nodesets import fold_node_set
from checks.selectors.packages import PackageView, RunState, package_view, run_state
from checks.selectors.pages_people import people_by_role
from checks.selectors.pages_run import (
    entries_of_run,
    hosts_of,
    in_force,
    layer_counts,
    overrides_of,
    starts_of,
    waivers_of,
)
from checks.selectors.readiness import answer_gate
from checks.selectors.roles import held_since
from checks.selectors.runs import RunAccess
from checks.services.runs import MOVES
from portal.accounts.models import User
from portal.ui import words
from portal.ui.criteria import Rules
from portal.ui.gates import Gate, gates_of, still_short
from portal.ui.pages.blocked import Blocked, blocked_nodes
from portal.ui.pages.estimate import EstimateShown, latest_estimate
from portal.ui.rules import rules_of
from portal.ui.sentences import closed, joined
from portal.ui.stating import state_href
from portal.ui.stops import Act, Stop, acts_of, stops_of

# What the gates say better than a list of reasons.
_OF_SIGNATURES = frozenset({Reason.UNSIGNED, Reason.HALF_SIGNED, Reason.OUTDATED, Reason.EXPIRED, Reason.REVOKED})
_WAY = (Stage.DRAFT, Stage.CHECKING, Stage.REHEARSING, Stage.SIGNOFF, Stage.CLEARED, Stage.RUNNING)


@dataclass(frozen=True, slots=True)
class WaiverSaid:
    """One waiver: asked for, in force, or over."""

    waiver: Waiver
    nodes: str
    state: str
    mine_to_approve: bool


@dataclass(frozen=True, slots=True)
class RoleTodo:
    """What one role has to do: what is measured first, signatures then."""

    role: str
    people: str
    mine: bool
    act: Act | None
    gates: tuple[Gate, ...]


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything the template writes down."""

    run: Run
    access: RunAccess
    answer: Answer | None
    unanswered: str
    decision: str
    sentence: str
    gates: tuple[Gate, ...]
    stops: tuple[Stop, ...]
    todos: tuple[RoleTodo, ...]
    override: Override | None
    accepted: tuple[str, ...]
    waivers: tuple[WaiverSaid, ...]
    overrides: tuple[Override, ...]
    starts: tuple[RunStart, ...]
    entries: tuple[LedgerEntry, ...]
    pool: str
    ready: int
    restart_until: datetime
    policy_number: int
    stages: tuple[tuple[str, str], ...]
    may_move: bool
    may_force: bool
    blocked: Blocked | None
    cost: EstimateShown | None

    @property
    def open_gates(self) -> int:
        """How many gates are open."""
        return sum(gate.is_open for gate in self.gates)

    @property
    def is_restart(self) -> bool:
        """Whether the question is about coming back."""
        return self.run.stage == Stage.RUNNING

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to ask any more."""
        return self.run.stage in OVER

    @property
    def may_tell(self) -> bool:
        """Whether the reader may tell that it started, came back or goes on with a spare."""
        return self.access.leads and self.access.may_edit

    @property
    def mine(self) -> tuple[Gate, ...]:
        """What waits for the reader's signature."""
        return tuple(gate for gate in self.gates if gate.mine) if not self.is_over else ()

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        return (
            self.run.stage, self.decision, self.sentence, self.gates, self.stops, self.waivers,
            self.override and self.override.pk, [entry.seq for entry in self.entries], self.blocked, self.cost,
        )  # fmt: skip


def run_page(*, user: User, access: RunAccess, now: datetime) -> RunPage:
    """Collect the page."""
    run = access.run
    state = run_state(run, now=now)
    views = {layer: package_view(state, layer) for layer in Layer}
    people, roles = people_by_role(run.cluster), signing_roles(user, run)
    gates = gates_of(state, views, counts=layer_counts(state), people=people, reader=user, roles=roles)
    answer, unanswered = _ask(user, run, now)
    stops = _stops(answer, access)
    overrides = overrides_of(run)
    forced = next((one for one in overrides if in_force(one, now=now)), None)
    return RunPage(
        run=run,
        access=access,
        answer=answer,
        unanswered=unanswered,
        decision=answer.decision.value if answer else Decision.UNKNOWN.value,
        sentence=_sentence(answer, unanswered, state, views, forced),
        gates=gates,
        stops=stops,
        todos=_todos(acts_of(stops, roles=access.roles, people=people), gates, people, roles),
        override=forced,
        accepted=_accepted(forced, state),
        waivers=tuple(_waiver(one, state, user, roles, now) for one in waivers_of(run)),
        overrides=overrides,
        starts=starts_of(run),
        entries=entries_of_run(run),
        pool=fold_node_set(node.hostname for node in state.nodes),
        ready=len(answer.ready_nodes) if answer else 0,
        restart_until=state.restart_until,
        policy_number=state.policy.number,
        stages=_stages(run),
        may_move=access.may_edit and bool(MOVES[run.stage]),
        may_force=access.may_edit and bool(access.roles & {"lead", "admin"}),
        cost=latest_estimate(run),
        blocked=blocked_nodes(run.cluster, answer.nodes_waiting if answer else 0, roles=access.roles),
    )


def signing_roles(user: User, run: Run) -> frozenset[str]:
    """The roles that this person was granted: an administrator of the site signs by none."""
    return frozenset(role for _person, role in held_since([user.pk], run.cluster))


def gate_url(run: Run) -> str:
    """Where a shell asks about this run."""
    return f"{settings.PORTAL_URL}/gate/{run.cluster.slug}?run={run.slug}"


def _ask(user: User, run: Run, now: datetime) -> tuple[Answer | None, str]:
    """The gate's own answer, or its sentence why there is none."""
    purpose = Purpose.RESTART if run.stage == Stage.RUNNING else Purpose.START
    try:
        answer = answer_gate(
            user=user, cluster=run.cluster.slug, nodes=None, purpose=purpose, run=run.slug, now=now
        )  # fmt: skip
    except CountersignError as error:
        return None, error.message
    return answer, ""


def _stops(answer: Answer | None, access: RunAccess) -> tuple[Stop, ...]:
    if answer is None:
        return ()
    run, rules = access.run, rules_of(access.run.cluster)
    titles = {capfirst(str(words.REASONS[code.value])) for code in _OF_SIGNATURES}
    found = (stop for stop in stops_of(answer, cluster=run.cluster, rules=rules) if stop.title not in titles)
    return tuple(_to_state(stop, access, rules) for stop in found)


def _to_state(stop: Stop, access: RunAccess, rules: Mapping[str, Rules]) -> Stop:
    """With the way to the form, where the reader may state what stops the run."""
    if stop.item not in rules or access.run.stage in OVER:
        return stop
    node = stop.where if stop.nodes == 1 else ""
    item, run = rules[stop.item].item, access.run
    return replace(stop, state_href=state_href(item, run.cluster, access.roles, node=node, run=run.slug))


def _sentence(
    answer: Answer | None,
    unanswered: str,
    state: RunState,
    views: Mapping[Layer, PackageView],
    forced: Override | None,
) -> str:
    if state.run.stage in OVER:
        return _("It is over; what stands here is its record.")
    if answer is None:
        return unanswered
    ready = {"ready": len(answer.ready_nodes), "asked": answer.asked, "needed": state.run.nodes_needed}
    if answer.decision is Decision.READY:
        return _ready_said(answer, ready, forced)
    parts = []
    if short := state.run.nodes_needed - len(answer.ready_nodes):
        parts.append(_short_said(short, state.run.nodes_needed) if short > 0 else "")
    missing = sum(len(one.missing_roles) for one in state.layers.values())
    if missing and answer.purpose is Purpose.START:
        said = ngettext("one signature is missing", "%(n)d signatures are missing", missing)
        parts.append(closed(said % {"n": missing}))
    elif any(still_short(state, view) for view in views.values()) and answer.purpose is Purpose.START:
        parts.append(closed(_("everything is signed, but not on enough nodes that still hold")))
    return joined(parts) or closed(_("see below what is in the way"))


def _ready_said(answer: Answer, ready: dict[str, int], forced: Override | None) -> str:
    if answer.basis is Basis.OVERRIDE and forced is not None:
        return _("Forced open by %(who)s: this is no sign-off, and it ends by itself.") % {"who": forced.by}
    if answer.basis is Basis.SIGNED_AT_START:
        return _("The signatures stood when it started, and %(ready)d of %(asked)d nodes hold what was signed.") % ready
    return _("Every layer is signed, and %(ready)d of %(asked)d nodes are ready; it needs %(needed)d.") % ready


def _short_said(short: int, needed: int) -> str:
    said = ngettext("%(n)d node short of %(needed)d", "%(n)d nodes short of %(needed)d", short)
    return closed(said % {"n": short, "needed": needed})


def _todos(
    acts: Sequence[Act], gates: Sequence[Gate], people: Mapping[str, Sequence[str]], roles: frozenset[str]
) -> tuple[RoleTodo, ...]:
    """Who has to do what, the reader's own first."""
    owed: dict[str, list[Gate]] = {act.owner: [] for act in acts}
    for gate in gates:
        for role in gate.missing:
            owed.setdefault(role, []).append(gate)
    by_owner = {act.owner: act for act in acts}
    todos = [
        RoleTodo(role, ", ".join(people.get(role, ())), role in roles, by_owner.get(role), tuple(found))
        for role, found in owed.items()
    ]
    return tuple(sorted(todos, key=lambda todo: not todo.mine))


def _waiver(one: Waiver, state: RunState, user: User, roles: frozenset[str], now: datetime) -> WaiverSaid:
    ended = hasattr(one, "end") or one.until < now
    approved = hasattr(one, "approval")
    standing = "over" if ended else "in_force" if approved else "asked"
    others = set(state.policy.policy.layers[Layer(one.layer)].roles) & roles
    mine = standing == "asked" and bool(others) and one.asked_by_id != user.pk
    return WaiverSaid(one, fold_node_set(hosts_of(state, one.nodes)), standing, mine)


def _accepted(forced: Override | None, state: RunState) -> tuple[str, ...]:
    """What an override accepts, each as item and place."""
    if forced is None:
        return ()
    return tuple(accepted_said(state, entry) for entry in forced.accepted)


def accepted_said(state: RunState, entry: Sequence[Any]) -> str:
    """One blocker that an override accepts."""
    uuid, item, subject, code = (str(part) for part in entry)
    place = " ".join(part for part in (*hosts_of(state, [uuid] if uuid else []), subject) if part)
    reason = str(words.REASONS.get(code, code))
    return _("%(what)s on %(where)s") % {"what": item or reason, "where": place} if place else item or reason


def _stages(run: Run) -> tuple[tuple[str, str], ...]:
    """The way of a run, and where on it this one is: done, now or ahead."""
    end = run.stage if run.stage in OVER else Stage.FINISHED.value
    way = [*(stage.value for stage in _WAY), end]
    if run.stage == Stage.ABORTED:
        return ((Stage.DRAFT.value, "done"), (Stage.ABORTED.value, "now"))
    place = way.index(run.stage)
    return tuple((stage, "done" if n < place else "now" if n == place else "ahead") for n, stage in enumerate(way))
