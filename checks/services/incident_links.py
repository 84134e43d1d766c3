"""What an item was to an incident: the question that makes the checklist better."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.incidents.kinds import EventKind, Relation
from checks.models import Cluster, Incident, IncidentItemLink
from checks.selectors.rules import NoCatalogue, ruleset_for
from checks.services.incident_records import (
    Author,
    IncidentRefused,
    add_event,
    lock_incidents,
    refresh,
    require_author,
    require_line,
    write_act,
)

_LONGEST_WHY: Final = 500


@dataclass(frozen=True, slots=True)
class Linking:
    """An item of the checklist, and what it was to the incident; *evidence* is the digest of what it was judged by."""

    item: str
    relation: Relation
    why: str = ""
    evidence: str = ""


@transaction.atomic
def link_item(*, incident: Incident, linking: Linking, author: Author, now: datetime) -> IncidentItemLink:
    """Say what an item was to the incident; a later word about the same item replaces an earlier one.

    Raises:
        MayNot, IncidentRefused: the checklist has no such item.
    """
    require_author(author, incident.cluster)
    lock_incidents(incident.cluster)
    (link,) = link_items(incident, [linking], author=author, now=now)
    refresh(incident)
    data = {"item": link.item, "relation": link.relation}
    write_act("incident_linked", incident, author=author, now=now, reason=link.why, data=data)
    return link


def link_items(
    incident: Incident, links: Iterable[Linking], *, author: Author, now: datetime
) -> list[IncidentItemLink]:
    """The same for several at once, as a part of another act that holds the lock."""
    versions = _versions(incident.cluster_id)
    made = []
    for one in links:
        if one.item not in versions:
            raise IncidentRefused(_("The checklist has no item %(item)s; name one by its key.") % {"item": one.item})
        why = require_line(one.why, most=_LONGEST_WHY, what=_("reason of the link"))
        columns = {"relation": one.relation.value, "why": why, "item_version": versions[one.item]}
        columns |= {"evidence": one.evidence} if one.evidence else {}
        link, _made = IncidentItemLink.objects.update_or_create(
            incident=incident, item=one.item, defaults=columns | {"by": author.by, "token": author.token, "at": now}
        )
        data = {"item": one.item, "relation": one.relation.value}
        add_event(incident, EventKind.LINKED, author=author, now=now, text=why, data=data)
        made.append(link)
    return made


def _versions(cluster: int) -> dict[str, str]:
    """Every item's key with its version, settings that the cluster made items included; empty without a catalogue."""
    try:
        return {key: item.version for key, item in ruleset_for(Cluster.objects.get(pk=cluster)).items.items()}
    except NoCatalogue:
        return {}
