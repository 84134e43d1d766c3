"""Nodes that were taken to measure the links between them: who measures with whom, handed out as they ask.

The portal names a partner of the same cluster, a port and a length, and nothing else; what a node runs is its own
agent's. One cluster's questions are answered one after the other, so that two who ask at once get one trial. A trial
ends by both ends' word, by its time, or with the claim of either end or the end itself: whoever was killed or retired
keeps nobody waiting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec
from django.db import transaction
from django.db.models import Q

from checks.domain.dealing import Table, deal, is_over
from checks.domain.errors import CountersignError
from checks.domain.link_facts import Told, link_facts
from checks.domain.pairs import Pair
from checks.models import Cluster, LinkSeat, LinkSide, LinkTrial, Node, NodeClaim, RunNode, Token
from checks.selectors.links import ITEM, bad_links, found_lately, of_this_time, present_seats
from checks.selectors.rules import ruleset_for
from checks.selectors.windows import open_claim
from checks.services.claims import ENGAGED, own_node
from checks.services.cluster_locks import lock_cluster

#: Seconds that either end may take to come, and that one flow takes beside its length.
COME_S: Final = 60
FLOW_OVERHEAD_S: Final = 4
#: How much longer a trial waits for the second end's word.
SECOND_WORD: Final = timedelta(seconds=30)
#: Ports of one trial, and how many blocks of them are used in turn, from the one that perftest itself takes.
PORTS: Final = 128
FIRST_PORT: Final = 18515
_BLOCKS: Final = 4
_WAIT_SHORTEST, _WAIT_LONGEST, _NODES_A_SECOND = 2, 25, 20


class NoTrial(CountersignError):
    """The node takes no part in measuring links now; ``code`` says why."""

    code = "not_taken"
    status = 409


@dataclass(frozen=True, slots=True)
class Offer:
    """What a node can do: where partners find it, how many cards it has, and how long its flows last (seconds)."""

    address: str
    cards: int
    gpu_memory: bool
    flow_s: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What a node does next, for how many seconds at most; *trial* and the rest only where it measures."""

    do: Literal["measure", "wait", "done"]
    seconds: int
    why: str = ""
    trial: LinkTrial | None = None
    serves: bool = False
    partner: str = ""
    address: str = ""


@transaction.atomic
def next_turn(*, token: Token, hostname: str, offer: Offer, now: datetime) -> Turn:
    """What the token's own node does next; asking again before a trial is over names the same trial.

    Raises:
        NodeRetired: the node or its cluster takes no part any more.
        ClaimRefused: ``wrong_node`` for another node than the token's.
        NoTrial: ``not_taken`` where the node is not claimed for this item.
    """
    node = own_node(token, hostname, Node.objects.all())
    cluster = lock_cluster(node.cluster_id)
    claim = open_claim(node, now)
    if claim is None or ITEM not in claim.items:
        raise NoTrial(f"{node.hostname} is not taken for {ITEM} now; claim it in a window first.")
    _take_seat(node, claim, offer, now)
    end_trials(cluster=cluster, now=now)
    side = LinkSide.objects.filter(node=node, open=True).select_related("trial").first()
    return _turn_in(side.trial, node, now) if side else _deal(cluster, node, offer, now)


@transaction.atomic
def tell_outcome(*, token: Token, hostname: str, trial: int, told: Told, now: datetime) -> None:
    """Store what one end found; the same again, and what comes after the trial's end, changes nothing.

    Raises:
        NodeRetired, ClaimRefused: as for a turn.
        NoTrial: ``no_such_trial`` where the node has no part in that trial.
    """
    node = own_node(token, hostname, Node.objects.all())
    cluster = lock_cluster(node.cluster_id)
    side = LinkSide.objects.filter(trial_id=trial, node=node).select_related("trial").first()
    if side is None:
        raise NoTrial(f"{node.hostname} has no part in trial {trial}.", code="no_such_trial", status=404)
    if not side.open:
        return
    side.told, side.told_at, side.open = msgspec.to_builtins(told), now, False
    side.save(update_fields=["told", "told_at", "open"])
    LinkSeat.objects.filter(node=node).update(asked_at=now)
    LinkTrial.objects.filter(pk=trial, until__gt=now + SECOND_WORD).update(until=now + SECOND_WORD)
    end_trials(cluster=cluster, now=now)


def end_trials(*, cluster: Cluster, now: datetime) -> int:
    """End trials of which nothing more can come; returns how many. Under the cluster's lock."""
    over = Q(until__lte=now) | ~Q(sides__open=True)
    for end in ("server", "client"):
        over |= Q(**{f"{end}_claim__ended_at__isnull": False}) | Q(**{f"{end}_claim__until__lte": now})
        over |= Q(**{f"{end}__retired_at__isnull": False})
    open_ones = LinkTrial.objects.filter(cluster=cluster, ended_at=None)
    ended = open_ones.filter(over).distinct().select_related("server", "client")
    for trial in ended:
        _end(trial, now)
    return len(ended)


def _end(trial: LinkTrial, now: datetime) -> None:
    said = dict(trial.sides.values_list("node", "told"))
    server, client = (_told(said[node]) for node in (trial.server_id, trial.client_id))
    found = link_facts(
        server, client, cards=trial.cards, gpu=trial.gpu_memory, names=(trial.server.hostname, trial.client.hostname)
    )
    trial.ended_at, trial.facts, trial.problem = now, dict(found.facts), found.problem[:300]
    trial.save(update_fields=["ended_at", "facts", "problem"])
    trial.sides.filter(open=True).update(open=False)


def _told(stored: object) -> Told | None:
    return None if stored is None else msgspec.convert(stored, Told)


def _take_seat(node: Node, claim: NodeClaim, offer: Offer, now: datetime) -> None:
    """Note that *node* is here. Another claim is another seat: the wait for others begins anew."""
    said = {
        "claim": claim, "address": offer.address, "cards": offer.cards, "gpu_memory": offer.gpu_memory,
        "flow_s": offer.flow_s, "asked_at": now,
    }  # fmt: skip
    seat = LinkSeat.objects.filter(node=node).first()
    if seat is None or seat.claim_id != claim.pk:
        said["seated_at"] = now
    LinkSeat.objects.update_or_create(node=node, defaults=said)


def _deal(cluster: Cluster, node: Node, offer: Offer, now: datetime) -> Turn:
    length = timedelta(seconds=trial_seconds(offer.cards, offer.gpu_memory, offer.flow_s))
    seats = {str(seat.node_id): seat for seat in present_seats(cluster, now, longer_than=length)}
    me = str(node.pk)
    if me not in seats:
        return Turn("done", 0, "too little time is left")
    wait = Turn("wait", min(_WAIT_LONGEST, _WAIT_SHORTEST + len(seats) // _NODES_A_SECOND), "no partner is free")
    table = _table(cluster, seats, now)
    met = any(me_too in trial.pair for trial in table.trials for me_too in seats)
    if not met and not table.busy and _others_may_come(cluster, list(seats.values()), now):
        return wait
    pair = deal(table, me)
    if pair is not None:
        return _turn_in(_hand_out(cluster, seats[pair[0]], seats[pair[1]], now), node, now)
    return Turn("done", 0, "nothing is left to measure") if is_over(table) else wait


def _table(cluster: Cluster, seats: dict[str, LinkSeat], now: datetime) -> Table:
    claimed = {node: seat.claim.claimed_at for node, seat in seats.items()}
    found = of_this_time(found_lately(cluster, ruleset_for(cluster), now), claimed)
    busy = LinkSide.objects.filter(node__in=[seat.node_id for seat in seats.values()], open=True)
    return Table(
        present=list(seats),
        busy=frozenset(str(node) for node in busy.values_list("node", flat=True)),
        trials=[one.trial for one in found],
        again=_both_here(bad_links(cluster), seats),
        full=cluster.every_link,
    )


def _both_here(pairs: Sequence[Pair], seats: dict[str, LinkSeat]) -> list[Pair]:
    return [pair for pair in pairs if seats.keys() >= set(pair)]


def _others_may_come(cluster: Cluster, seats: Sequence[LinkSeat], now: datetime) -> bool:
    """Whether to wait for more nodes: each of them learns within one tick that a window is open."""
    engaged = RunNode.objects.filter(run__cluster=cluster, run__stage__in=ENGAGED).values("node")
    live = Node.objects.filter(cluster=cluster, retired_at=None, origin="live").exclude(pk__in=engaged)
    patience = timedelta(seconds=cluster.interval_s + 60)
    return now < min(seat.seated_at for seat in seats) + patience and live.count() > len(seats)


def _hand_out(cluster: Cluster, server: LinkSeat, client: LinkSeat, now: datetime) -> LinkTrial:
    cards, gpu = min(server.cards, client.cards), server.gpu_memory and client.gpu_memory
    flow_s = min(server.flow_s, client.flow_s)
    trial = LinkTrial.objects.create(
        cluster=cluster, server=server.node, client=client.node, server_claim=server.claim, client_claim=client.claim,
        cards=cards, gpu_memory=gpu, flow_s=flow_s, port=_next_port(cluster), handed_at=now,
        until=now + timedelta(seconds=trial_seconds(cards, gpu, flow_s)),
    )  # fmt: skip
    LinkSide.objects.bulk_create([LinkSide(trial=trial, node=seat.node) for seat in (server, client)])
    return trial


def trial_seconds(cards: int, gpu: bool, flow_s: int) -> int:
    """How long a trial may take: each card in both directions from each memory, then all at once."""
    flows = 2 * cards * (2 if gpu else 1) + 2
    return COME_S + flows * (flow_s + FLOW_OVERHEAD_S)


def _next_port(cluster: Cluster) -> int:
    """Another block than the trial before had: what a killed one left may still be listening."""
    last = LinkTrial.objects.filter(cluster=cluster).order_by("-pk").values_list("port", flat=True).first()
    return FIRST_PORT if last is None else FIRST_PORT + (last - FIRST_PORT + PORTS) % (PORTS * _BLOCKS)


def _turn_in(trial: LinkTrial, node: Node, now: datetime) -> Turn:
    serves = trial.server_id == node.pk
    partner = LinkSeat.objects.select_related("node").get(node=trial.client_id if serves else trial.server_id)
    left = max(0, int((trial.until - now).total_seconds()))
    return Turn("measure", left, "", trial, serves, partner.node.hostname, partner.address)
