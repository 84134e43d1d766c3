"""What a signer reads before signing: what changed, the evidence, who is left out, and what the signature will say."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.verdicts import Layer, Reason, Source, Verdict
from checks.models import Delegation, Run, Signature
from checks.selectors.blockers import SignBlocker
from checks.selectors.changes import changes_since
from checks.selectors.delegations import delegations_in_force
from checks.selectors.nodesets import fold_node_set
from checks.selectors.packages import PackageView, RunState, package_view, run_state
from checks.selectors.pages_people import people_by_role
from checks.selectors.pages_run import hosts_of, layer_counts
from checks.selectors.pages_sign import Evidence, evidence_of
from checks.services.signers import find_signer
from portal.accounts.models import User
from portal.ui import words
from portal.ui.gates import Gate, gates_of
from portal.ui.pages.run import signing_roles
from portal.ui.rules import rules_of
from portal.ui.sign_words import ChangeSaid, changes_said

_VERDICT_OF = {Reason.STALE: Verdict.STALE, Reason.CRITERION: Verdict.FAIL, Reason.NOT_UNIFORM: Verdict.FAIL}


@dataclass(frozen=True, slots=True)
class EvidenceSaid:
    """One blocker of the package, over however many nodes: what was found, how old it is, where to look."""

    item: str
    title: str
    verdict: str
    says: str
    observed_at: datetime | None
    href: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that keeps a node, or the whole layer, from being signed."""

    hostname: str
    verdict: str
    says: str
    href: str


@dataclass(frozen=True, slots=True)
class SignPage:
    """Everything the template writes down."""

    run: Run
    layer: str
    view: PackageView
    gate: Gate
    digest: str
    changes: tuple[ChangeSaid, ...] | None
    last: Signature | None
    evidence: tuple[EvidenceSaid, ...]
    left_out: tuple[LeftOut, ...]
    of_all: tuple[LeftOut, ...]
    waivers: tuple[tuple[str, str, datetime], ...]
    roles: tuple[str, ...]
    delegations: tuple[Delegation, ...]
    refused: str
    notes: tuple[str, ...]
    ends: datetime | None
    restart_until: datetime
    after: int
    nodes: str

    @property
    def able(self) -> int:
        """How many nodes the signature would cover."""
        return len(self.view.package.nodes)

    @property
    def needed(self) -> int:
        """How many the job needs."""
        return self.run.nodes_needed


def sign_page(*, user: User, run: Run, layer: Layer, now: datetime) -> SignPage:
    """Collect the page for one reader."""
    state = run_state(run, now=now)
    view = package_view(state, layer)
    roles = signing_roles(user, run)
    wanted = tuple(role for role in view.state.missing_roles if role in roles)
    people = people_by_role(run.cluster)
    views = {each: view if each is layer else package_view(state, each) for each in Layer}
    gates = gates_of(state, views, counts=layer_counts(state), people=people, reader=user, roles=roles)
    gate = next(each for each in gates if each.layer == layer.value)
    last = _last(state, layer, user)
    given = delegations_in_force(run.cluster, now=now).filter(receiver=user).select_related("giver", "run")
    return SignPage(
        run=run,
        layer=layer.value,
        view=view,
        gate=gate,
        digest=view.package.digest,
        changes=changes_said(changes_since(state, layer, last)) if last else None,
        last=last,
        evidence=_evidence(state, layer),
        left_out=_left_out(view, run),
        of_all=tuple(_blocker(one, run) for one in view.blockers if not one.node),
        waivers=_waivers(state, layer),
        roles=wanted,
        delegations=tuple(one for one in given if one.role in wanted and one.run_id in (None, run.pk)),
        refused=_refused(state, view, user, wanted),
        notes=_contributor_notes(state, view, user),
        ends=view.policy.signature_ends(now, view.evidence_ends),
        restart_until=state.restart_until,
        after=len(view.policy.roles) - len(view.state.missing_roles) + 1,
        nodes=fold_node_set(hosts_of(state, view.package.nodes)),
    )


def _last(state: RunState, layer: Layer, user: User) -> Signature | None:
    """The reader's own last signature; where there is none, whatever was signed last."""
    every = state.signatures[layer]
    mine = [one for one in every if one.signer_id == user.pk]
    found = mine or every
    return found[-1] if found else None


def _refused(state: RunState, view: PackageView, user: User, wanted: Sequence[str]) -> str:
    """The sentence why this reader may not sign now, from the very rule that would refuse the signature."""
    if not view.state.missing_roles:
        return _("Every signature of this layer is given, and they count.")
    for role in wanted or view.policy.roles[:1]:
        try:
            with transaction.atomic():
                find_signer(state, view, by=user, role=role, delegation=None)
        except CountersignError as error:
            said = error.message
        else:
            return "" if view.signable else _("It cannot be signed yet: see what is in the way.")
    if not wanted:
        names = ", ".join(str(words.ROLES[role]) for role in view.state.missing_roles)
        return _("Your roles here are not asked for. Still missing: %(roles)s.") % {"roles": names}
    return said


def _contributor_notes(state: RunState, view: PackageView, user: User) -> tuple[str, ...]:
    """What the reader did to what would be signed; with a small team's policy the record will say so."""
    acts = state.contributors[view.layer].get(user.pk, ())
    return tuple(f"{words.ACTS.get(act.what, act.what)} {act.target}, {act.at:%Y-%m-%d %H:%M} UTC" for act in acts)


def _evidence(state: RunState, layer: Layer) -> tuple[EvidenceSaid, ...]:
    rules, language = rules_of(state.run.cluster), get_language() or "en"
    said = []
    for one in evidence_of(state, layer):
        known = rules.get(one.item)
        said.append(
            EvidenceSaid(
                item=one.item,
                title=known.item.texts(language).title if known else one.item,
                verdict=one.worst.value,
                says=_counted(one.counts, one.nodes),
                observed_at=one.observed_at,
                href=reverse("ui:item", args=[state.run.cluster.slug, one.item]),
            )
        )
    return tuple(said)


def _counted(counts: Mapping[Verdict, int], nodes: int) -> str:
    said = ", ".join(f"{number:,} {words.VERDICTS[verdict.value]}" for verdict, number in counts.items())
    if not nodes:
        return said
    return _("%(counted)s; %(n)d nodes") % {"counted": said, "n": nodes}


def _left_out(view: PackageView, run: Run) -> tuple[LeftOut, ...]:
    """Each node that cannot be signed, once, with its gravest reason and how many more there are."""
    by_node: dict[str, list[SignBlocker]] = {}
    for blocker in view.blockers:
        if blocker.node:
            by_node.setdefault(blocker.node, []).append(blocker)
    return tuple(_blocker(found[0], run, more=len(found) - 1) for found in by_node.values())


def _blocker(one: SignBlocker, run: Run, more: int = 0) -> LeftOut:
    reason = str(words.REASONS.get(one.code, one.code))
    what = f"{one.item} {one.subject}".strip() if one.item else ""
    says = ", ".join(part for part in (what, reason, one.detail) if part)
    if more:
        says = _("%(says)s, and %(n)d more") % {"says": says, "n": more}
    verdict = _VERDICT_OF.get(one.code, Verdict.UNKNOWN)  # type: ignore[call-overload]
    return LeftOut(one.hostname, verdict.value, says, _href(one, run))


def _href(one: SignBlocker, run: Run) -> str:
    slug = run.cluster.slug
    if one.hostname and one.item:
        href = reverse("ui:node_item", args=[slug, one.hostname, one.item])
        return f"{href}?subject={one.subject}" if one.subject else href
    if one.hostname:
        return reverse("ui:node", args=[slug, one.hostname])
    known = rules_of(run.cluster).get(one.item)
    if known is not None and known.item.source is Source.ATTESTED:
        return f"{reverse('ui:attest', args=[slug, one.item])}?run={run.slug}"
    return reverse("ui:item", args=[slug, one.item])


def _waivers(state: RunState, layer: Layer) -> tuple[tuple[str, str, datetime], ...]:
    mine = (one for one in state.waivers if one.layer is layer)
    return tuple((one.item, fold_node_set(hosts_of(state, one.nodes)), one.until) for one in mine)


def opened(evidence: Iterable[Evidence], seconds: Mapping[str, int]) -> Counter[str]:
    """Seconds by item that stands on the page; anything else that was sent is nobody's evidence."""
    known = {one.item for one in evidence}
    return Counter({item: spent for item, spent in seconds.items() if item in known})
