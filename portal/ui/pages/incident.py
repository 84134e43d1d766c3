"""One incident: what it cost, which items saw it, what is done about it, and what happened when."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from checks.domain.incidents.kinds import ActionState, EventKind, Standing, is_blind_spot
from checks.domain.incidents.losses import money_lost
from checks.domain.incidents.standing import ACTION_MOVES, MOVES, UNENDED
from checks.models import (
    CorrectiveAction,
    Evidence,
    IncidentAttachment,
    IncidentEvent,
    IncidentItemLink,
    IncidentNode,
    Precedent,
)
from checks.selectors.incidents import IncidentAccess, known_elsewhere
from portal.ui import incident_words as words

_MOST_TWINS = 3


@dataclass(frozen=True, slots=True)
class EventLine:
    """One line of the timeline."""

    event: IncidentEvent
    says: str
    who: str


@dataclass(frozen=True, slots=True)
class ActionLine:
    """One corrective action, and where the reader may move it: (address, words)."""

    action: CorrectiveAction
    moves: tuple[tuple[str, str], ...]

    @property
    def waits(self) -> bool:
        """Whether it waits for somebody."""
        return ActionState(self.action.state) in UNENDED


@dataclass(frozen=True, slots=True)
class TwinLine:
    """What others told in public of the same items."""

    precedent: Precedent
    title: str


@dataclass(frozen=True, slots=True)
class IncidentPage:
    """The page of one incident; *moves* are where the reader may move it: (address, words)."""

    incident: Any
    may_act: bool
    usd: Decimal | None
    nodes: tuple[IncidentNode, ...]
    links: tuple[IncidentItemLink, ...]
    texts: dict[str, str]
    actions: tuple[ActionLine, ...]
    attachments: tuple[IncidentAttachment, ...]
    events: tuple[EventLine, ...]
    moves: tuple[tuple[str, str], ...]
    merged: tuple[Any, ...]
    twins: tuple[TwinLine, ...]

    @property
    def is_blind_spot(self) -> bool:
        """Whether no item saw it, nor should have."""
        return is_blind_spot(link.relation for link in self.links)

    @property
    def detected_after_s(self) -> float:
        """From its start to its detection."""
        return float((self.incident.detected_at - self.incident.started_at).total_seconds())

    @property
    def stable_after_s(self) -> float | None:
        """From its detection to its end."""
        if self.incident.stable_at is None:
            return None
        return float((self.incident.stable_at - self.incident.detected_at).total_seconds())


def incident_page(access: IncidentAccess) -> IncidentPage:
    """Collect it."""
    incident = access.incident
    links = tuple(incident.links.all())
    actions = incident.actions.select_related("owner", "node", "verified_by", "done_by")
    return IncidentPage(
        incident=incident,
        may_act=access.may_act and incident.standing != Standing.MERGED,
        usd=money_lost(incident.lost_s, incident.usd_per_gpu_hour),
        nodes=tuple(incident.touched.select_related("node")),
        links=links,
        texts=dict(Evidence.objects.filter(digest__in=[one.evidence for one in links]).values_list("digest", "text")),
        actions=tuple(_action(one) for one in actions),
        attachments=tuple(incident.attachments.all()),
        events=tuple(_events(incident)),
        moves=tuple(_moves(incident)),
        merged=tuple(incident.merged.order_by("id")),
        twins=tuple(_twins(links)),
    )


def _events(incident: Any) -> Iterator[EventLine]:
    for event in incident.events.select_related("by"):
        who = event.by.shown_name if event.by else _("a program") if event.token else ""
        yield EventLine(event, _says(event), who)


def _says(event: IncidentEvent) -> str:
    """The head of the line: what it is, and of what."""
    word, data = str(words.EVENTS[event.kind]), event.data
    if event.kind == EventKind.LINKED:
        return f"{data['item']}: {words.RELATIONS[data['relation']]}"
    if event.kind in (EventKind.ACTION, EventKind.VERIFIED) and "title" in data:
        return f"{data['title']}: {words.ACTION_STATES[data['after']]}"
    if event.kind == EventKind.CHANGED:
        return f"{word}: {', '.join(sorted(data))}"
    if event.kind == EventKind.MERGED:
        return f"{word}: {data.get('into') or data.get('from', '')}"
    return word


_WAYS = {
    Standing.STABLE: gettext_lazy("It is stable"),
    Standing.CLOSED: gettext_lazy("Close it"),
    Standing.OPEN: gettext_lazy("It is not over"),
}


def _moves(incident: Any) -> Iterator[tuple[str, str]]:
    for to in MOVES[Standing(incident.standing)]:
        yield reverse("ui:move_incident", args=[incident.pk, to.value]), str(_WAYS[to])


def _action(action: CorrectiveAction) -> ActionLine:
    state = ActionState(action.state)
    ways = [*ACTION_MOVES[state], *([ActionState.VERIFIED] if state is ActionState.DONE else [])]
    moves = [
        (reverse("ui:move_action", args=[action.incident_id, action.pk, to.value]), str(_ACTION_WAYS[to]))
        for to in ways
    ]
    return ActionLine(action, tuple(moves))


_ACTION_WAYS = {
    ActionState.ACCEPTED: gettext_lazy("Accept"),
    ActionState.REJECTED: gettext_lazy("Reject"),
    ActionState.DONE: gettext_lazy("Done"),
    ActionState.VERIFIED: gettext_lazy("Verify"),
}


def _twins(links: tuple[IncidentItemLink, ...]) -> Iterator[TwinLine]:
    """The first public incident of each item that should have seen this one, or did."""
    known: set[str] = set()
    chinese = (get_language() or "en").startswith("zh")
    for link in links:
        for one in known_elsewhere(item=link.item)[:2]:
            if one.key not in known and len(known) < _MOST_TWINS:
                known.add(one.key)
                yield TwinLine(one, one.title_zh if chinese else one.title_en)
