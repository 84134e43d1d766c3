"""Who is told of an act, and what: one row a message, written once, sent by ``checks.services.notice_sending``.

Nothing here holds an act up: the act enqueued its ledger entry and is over. What is said is what is true now.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urljoin

import structlog
from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import translation

from checks.domain.verdicts import Layer
from checks.models import OVER, Cluster, Delegation, LedgerEntry, Notice, Role, Run, Signature, Stage, Waiver
from checks.selectors.notice_people import (
    MENDING_ROLES,
    asked_to_sign,
    holders,
    leading,
    open_layers,
    site_administrators,
)
from checks.selectors.packages import run_state
from checks.selectors.policies import policy_in_force
from checks.services import notice_words as words
from checks.services.destinations import Destination, Destinations, NotifyFileInvalid, destinations
from checks.services.notice_words import Words

log = structlog.get_logger(__name__)
_LONGEST_TITLE: Final = 300


@dataclass(frozen=True, slots=True)
class Message:
    """What is to be told: *key* says about what, once and for all; *say* puts it into words for one of *people*, or
    for everybody who reads a chat (None). *path* is the page where something can be done about it.
    """

    key: str
    people: Collection[Any]
    say: Callable[[Any | None], Words]
    path: str
    cluster: Cluster | None
    about_nodes: bool = False
    loud: bool = False


def plan_notices(*, entry_id: int, now: datetime) -> int:
    """Write down the messages of one act; returns how many are new. Twice does what once does."""
    entry = LedgerEntry.objects.select_related("cluster").get(pk=entry_id)
    make = ACTS.get(entry.what)
    message = make(entry, f"entry:{entry.seq}", now) if make else None
    return tell(message, now=now) if message else 0


@transaction.atomic
def tell(message: Message, *, now: datetime) -> int:
    """Write a row for each person with an address and each destination; returns how many are new."""
    rows = [_to_person(message, person, now) for person in message.people if person.email and settings.MAILS_PEOPLE]
    known = destinations_or_none()
    slug = message.cluster.slug if message.cluster else None
    rows += [_to_place(message, known, to, now) for to in known.of(slug)]
    before = Notice.objects.filter(key=message.key).count()
    Notice.objects.bulk_create(rows, ignore_conflicts=True)
    return Notice.objects.filter(key=message.key).count() - before


def destinations_or_none() -> Destinations:
    """What NOTIFY_FILE says; nothing while it cannot be read, which ``check --deploy`` and /status tell."""
    try:
        return destinations()
    except NotifyFileInvalid as error:
        log.error("notices.file_invalid", why=str(error))
        return Destinations(settings.LANGUAGE_CODE)


def _to_person(message: Message, person: Any, now: datetime) -> Notice:
    return _row(message, person.language or settings.LANGUAGE_CODE, person, now, person=person)


def _to_place(message: Message, known: Destinations, to: Destination, now: datetime) -> Notice:
    return _row(message, known.language, None, now, place=to.shown, place_key=to.key)


def _row(message: Message, language: str, reader: Any | None, now: datetime, **to: Any) -> Notice:
    with translation.override(language):
        said = message.say(reader)
    link = urljoin(settings.PORTAL_URL + "/", message.path.lstrip("/"))
    title = " ".join(said.what.split())[:_LONGEST_TITLE]
    return Notice(
        key=message.key, cluster=message.cluster, about_nodes=message.about_nodes, loud=message.loud, title=title,
        body=f"{said.what}\n{said.who}\n{link}", created_at=now, due_at=now, **to,
    )  # fmt: skip


# One maker an act: who, what, where to go.


def _stage_moved(entry: LedgerEntry, key: str, now: datetime) -> Message | None:
    run = _run(entry.target)
    if entry.data.get("after") != Stage.SIGNOFF or run.stage != Stage.SIGNOFF:
        return None
    state = run_state(run, now=now)
    asked = {one.person.pk: one for one in asked_to_sign(state, open_layers(state))}
    people = [one.person for one in asked.values()]
    return Message(
        key, people, lambda person: words.sign_asked(state, asked[person.pk] if person else None),
        reverse("ui:run", args=[run.slug]), run.cluster,
    )  # fmt: skip


def _signed(entry: LedgerEntry, key: str, now: datetime) -> Message | None:
    slug, _, name = entry.target.partition("/")
    run, layer = _run(slug), Layer(name)
    if run.stage in OVER:
        return None
    state = run_state(run, now=now)
    path = reverse("ui:run", args=[run.slug])
    if state.layers[layer].signed:
        people = _others([run.owner, *(leading(run.cluster) if state.signed else [])], entry)
        return Message(key, people, lambda _person: words.signed(state, layer, entry), path, run.cluster)
    asked = {one.person.pk: one for one in asked_to_sign(state, [layer])}
    return Message(
        key, [one.person for one in asked.values()],
        lambda person: words.half_signed(state, layer, entry, asked[person.pk] if person else None),
        reverse("ui:sign", args=[run.slug, layer]), run.cluster,
    )  # fmt: skip


def _revoked(entry: LedgerEntry, key: str, now: datetime) -> Message:
    slug, _, name = entry.target.partition("/")
    run, layer = _run(slug), Layer(name)
    signer = Signature.objects.select_related("signer").get(pk=entry.data["signature"]).signer
    asked = [one.person for one in asked_to_sign(run_state(run, now=now), [layer])]
    people = _others([run.owner, signer, *asked], entry)
    path = reverse("ui:sign", args=[run.slug, layer])
    return Message(key, people, lambda _person: words.revoked(entry, run.slug, layer), path, run.cluster)


def _waiver(entry: LedgerEntry, key: str, now: datetime) -> Message:
    waiver = Waiver.objects.select_related("run__cluster", "run__owner", "asked_by").get(pk=entry.data["waiver"])
    run = waiver.run
    people = [run.owner, waiver.asked_by]
    if entry.what == "waiver_asked":
        people += _who_may_agree(waiver)
    path = reverse("ui:run", args=[run.slug])
    return Message(key, _others(people, entry), lambda _person: words.waiver(entry, run.slug), path, run.cluster)


def _who_may_agree(waiver: Waiver) -> list[Any]:
    cluster = waiver.run.cluster
    roles = set(policy_in_force(cluster).policy.layers[Layer(waiver.layer)].roles)
    return holders(cluster, roles - {waiver.asked_role} if len(roles) > 1 else roles)


def _override(entry: LedgerEntry, key: str, now: datetime) -> Message:
    run = _run(entry.target)
    people = _others([run.owner, *leading(run.cluster)], entry)
    path = reverse("ui:run", args=[run.slug])
    loud = entry.what == "gate_forced_open"
    return Message(key, people, lambda _person: words.override(entry, run.slug), path, run.cluster, loud=loud)


def _policy(entry: LedgerEntry, key: str, now: datetime) -> Message:
    cluster = _cluster(entry)
    path = reverse("ui:policy", args=[cluster.slug])
    people = _others(leading(cluster), entry)
    return Message(key, people, lambda _person: words.policy(entry, cluster.slug), path, cluster)


def _delegation(entry: LedgerEntry, key: str, now: datetime) -> Message:
    cluster = _cluster(entry)
    given = Delegation.objects.select_related("giver", "receiver").get(pk=entry.target.rpartition("/")[2])
    people = _others([given.giver, given.receiver], entry)
    path = reverse("ui:delegations", args=[cluster.slug])
    return Message(key, people, lambda _person: words.delegation(entry), path, cluster)


def _role(entry: LedgerEntry, key: str, now: datetime) -> Message | None:
    cluster = _cluster(entry)
    receiver = cluster.memberships.filter(user=entry.data.get("user"), role=entry.data.get("role")).first()
    if receiver is None:  # taken away again before anybody was told
        return None
    person = receiver.user
    people = _others([person, *holders(cluster, {Role.ADMIN})], entry)
    path = reverse("ui:cluster", args=[cluster.slug])
    return Message(key, people, lambda _person: words.role(entry, str(person), cluster.slug), path, cluster)


def _breaker(entry: LedgerEntry, key: str, now: datetime) -> Message:
    cluster = _cluster(entry)
    path = reverse("ui:item", args=[cluster.slug, entry.target])
    people = holders(cluster, MENDING_ROLES)
    return Message(key, people, lambda _person: words.breaker(entry, cluster.slug), path, cluster, loud=True)


def _enrolment(entry: LedgerEntry, key: str, now: datetime) -> Message | None:
    cluster = entry.cluster
    if cluster is None:
        return None
    people = holders(cluster, MENDING_ROLES)
    path = reverse("ui:cluster", args=[cluster.slug])
    say = words.enrolment
    return Message(key, people, lambda _person: say(entry, cluster.slug), path, cluster, about_nodes=True)


def _restored(entry: LedgerEntry, key: str, now: datetime) -> Message:
    people = _others(site_administrators(), entry)
    return Message(key, people, lambda _person: words.restored(entry), reverse("ui:status"), None, loud=True)


#: How each act that is told of becomes a message.
ACTS: Final[Mapping[str, Callable[[LedgerEntry, str, datetime], Message | None]]] = {
    "stage_moved": _stage_moved,
    "signed": _signed,
    "signature_revoked": _revoked,
    "waiver_asked": _waiver,
    "waiver_approved": _waiver,
    "waiver_ended": _waiver,
    "gate_forced_open": _override,
    "override_ended": _override,
    "policy_proposed": _policy,
    "policy_approved": _policy,
    "delegated": _delegation,
    "delegation_ended": _delegation,
    "role_granted": _role,
    "breaker_tripped": _breaker,
    "enrolment_refused": _enrolment,
    "restored": _restored,
}


def _run(slug: str) -> Run:
    return Run.objects.select_related("cluster", "owner").get(slug=slug)


def _cluster(entry: LedgerEntry) -> Cluster:
    assert entry.cluster is not None  # noqa: S101  (these acts are written with their cluster)
    return entry.cluster


def _others(people: Collection[Any], entry: LedgerEntry) -> list[Any]:
    """Each once, without who did it and without closed accounts."""
    found = {person.pk: person for person in people if person.is_active and person.pk != entry.who_id}
    return list(found.values())
