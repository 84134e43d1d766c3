"""What nobody's act brings about, and people must learn all the same: found by looking, told once.

Signatures that lapse, waivers that end, a ledger that is not whole, nodes in trouble. Looking twice, or two at once,
tells nothing twice: each finding has a key, and each row is written once.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from django.db.models import Q
from django.urls import reverse

from checks.domain.signoff import SignState
from checks.domain.verdicts import Layer, Verdict
from checks.models import (
    OVER,
    BreakerTrip,
    Cluster,
    Flip,
    Gap,
    LedgerWatch,
    Node,
    NodeItemState,
    NoticeMark,
    Run,
    Stage,
    Waiver,
)
from checks.selectors.changes import changes_since
from checks.selectors.ledger_signs import CHAIN
from checks.selectors.notice_people import MENDING_ROLES, asked_to_sign, holders, site_administrators
from checks.selectors.packages import RunState, run_state
from checks.services import notice_words as words
from checks.services.notice_incidents import tell_of_incidents
from checks.services.notices import Message, tell

#: Stages in which a start may rest on signatures.
_AWAITED: Final = (Stage.SIGNOFF, Stage.CLEARED)
WARNED_BEFORE: Final = timedelta(hours=24)
#: One message of a cluster's nodes in this time, however many flip.
EVERY: Final = timedelta(minutes=5)
# The sweep and the last ingest have written what they saw by then.
_SETTLED_AFTER: Final = timedelta(minutes=2)


def watch_for_notices(*, now: datetime) -> int:
    """Look at everything once; returns how many messages are new."""
    found = [*_lapsed_signatures(now=now), *_ending_waivers(now=now), *_broken_ledger(), *_doubted_nodes()]
    told = sum(tell(message, now=now) for message in found)
    for cluster in Cluster.objects.filter(closed_at=None):
        told += _tell_of_nodes(cluster, now=now) + tell_of_incidents(cluster, now=now)
    return told


def _lapsed_signatures(*, now: datetime) -> Iterator[Message]:
    runs = Run.objects.select_related("cluster", "owner").filter(stage__in=_AWAITED, cluster__closed_at=None)
    for run in runs.filter(packages__signatures__isnull=False).distinct():
        state = run_state(run, now=now)
        for layer, one in state.layers.items():
            if one.state in (SignState.OUTDATED, SignState.EXPIRED):
                yield _lapsed(state, layer)


def _lapsed(state: RunState, layer: Layer) -> Message:
    """The newest round stopped counting: its signers and whoever may sign again, with what changed."""
    run, one = state.run, state.layers[layer]
    signatures = [each for each in state.signatures[layer] if each.round == one.round]
    changes = changes_since(state, layer, signatures[0]) if one.state is SignState.OUTDATED else None
    people = [run.owner, *(each.signer for each in signatures)]
    people += [asked.person for asked in asked_to_sign(state, [layer])]
    return Message(
        f"lapsed:{run.pk}:{layer}:{one.round}", _each_once(people), lambda _: words.lost(state, layer, changes),
        reverse("ui:sign", args=[run.slug, layer]), run.cluster,
    )  # fmt: skip


def _ending_waivers(*, now: datetime) -> Iterator[Message]:
    near = Q(until__lte=now + WARNED_BEFORE, until__gt=now - WARNED_BEFORE)
    waivers = Waiver.objects.filter(near, approval__isnull=False, end=None).exclude(run__stage__in=OVER)
    for waiver in waivers.select_related("run__cluster", "run__owner", "asked_by", "approval__by"):
        yield _ending(waiver, over=waiver.until <= now)


def _ending(waiver: Waiver, *, over: bool) -> Message:
    people = _each_once([waiver.asked_by, waiver.approval.by, waiver.run.owner])
    return Message(
        f"waiver-{'over' if over else 'ends'}:{waiver.pk}", people, lambda _: words.waiver_ends(waiver, over=over),
        reverse("ui:run", args=[waiver.run.slug]), waiver.run.cluster,
    )  # fmt: skip


def _broken_ledger() -> Iterator[Message]:
    wrong = [LedgerWatch.Outcome.BROKEN, LedgerWatch.Outcome.ROLLED_BACK]
    row = LedgerWatch.objects.filter(pk=CHAIN, outcome__in=wrong).first()
    if row is not None:
        about = sha256(row.detail.encode()).hexdigest()[:16]
        say = words.ledger_broken
        yield Message(
            f"ledger:{row.outcome}:{about}", site_administrators(), lambda _: say(row.detail), reverse("ui:status"),
            None, loud=True,
        )  # fmt: skip


def _doubted_nodes() -> list[Message]:
    """Machines whose evidence is not believed until a person looked; once for each state of their serials and boot."""
    nodes = Node.objects.filter(retired_at=None, cluster__closed_at=None).select_related("cluster")
    return [_doubted(node) for node in nodes.exclude(trouble="")]


def _doubted(node: Node) -> Message:
    seen = sha256(f"{sorted(node.unconfirmed_serials.items())}{node.boot_id}".encode()).hexdigest()[:16]
    return Message(
        f"doubted:{node.pk}:{node.trouble}:{seen}", holders(node.cluster, MENDING_ROLES),
        lambda _: words.node_doubted(node.hostname, node.trouble),
        reverse("ui:node", args=[node.cluster.slug, node.hostname]), node.cluster, about_nodes=True,
    )  # fmt: skip


def _tell_of_nodes(cluster: Cluster, *, now: datetime) -> int:
    """Nodes that began to fail a blocker, or fell silent, since the last message, and still do; one message for all.

    While a circuit breaker is open nothing is told and the mark stays: what then still holds is told afterwards.
    """
    name, upto = f"nodes:{cluster.pk}", now - _SETTLED_AFTER
    mark, new = NoticeMark.objects.get_or_create(pk=name, defaults={"at": upto})
    held = BreakerTrip.objects.filter(cluster=cluster, ended_at=None).exists()
    if new or held or upto - mark.at < EVERY:
        return 0
    failing, silent = _failing(cluster, mark.at, upto), _silent(cluster, mark.at, upto)
    told = 0
    if failing or silent:
        message = Message(
            f"{name}:{mark.at:%Y%m%dT%H%M%S%f}", holders(cluster, MENDING_ROLES),
            lambda _: words.nodes_in_trouble(cluster.slug, failing, silent),
            reverse("ui:cluster", args=[cluster.slug]), cluster, about_nodes=True,
        )  # fmt: skip
        told = tell(message, now=now)
    NoticeMark.objects.filter(pk=name, at=mark.at).update(at=upto)
    return told


def _failing(cluster: Cluster, after: datetime, upto: datetime) -> dict[str, set[str]]:
    """Host names by the blocker that they went to *fail* on in that time, and fail now."""
    flips = Flip.objects.filter(cluster=cluster, at__gt=after, at__lte=upto, raw=Verdict.FAIL)
    flipped = set(flips.exclude(raw_before=Verdict.FAIL).values_list("node_id", "item"))
    nodes = {node for node, _item in flipped}
    rows = NodeItemState.objects.filter(node__in=nodes, node__retired_at=None, blocks=2, raw=Verdict.FAIL)
    found: dict[str, set[str]] = defaultdict(set)
    for node, item, host in rows.values_list("node_id", "item", "node__hostname"):
        if (node, item) in flipped:
            found[item].add(host)
    return dict(found)


def _silent(cluster: Cluster, after: datetime, upto: datetime) -> set[str]:
    """Host names of nodes whose evidence ended in that time, and that have sent none since."""
    gaps = Gap.objects.filter(node__cluster=cluster, node__retired_at=None, ended_at=None, cadence="tick")
    return set(gaps.filter(started_at__gt=after, started_at__lte=upto).values_list("node__hostname", flat=True))


def _each_once(people: list[Any]) -> list[Any]:
    return list({person.pk: person for person in people if person.is_active}.values())
