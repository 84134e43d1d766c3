"""The gate's reasons grouped by cause: what stops a cluster, worst first, and who must act on it."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from checks.domain.items import Criterion
from checks.domain.readiness import Answer, Why
from checks.domain.verdicts import Source
from checks.models import Cluster
from checks.selectors.nodesets import fold_node_set
from portal.ui import figures, words
from portal.ui.criteria import Rules
from portal.ui.details import detail_said
from portal.ui.events import item_href
from portal.ui.subjects import subjects_said

# What one role is told to do at once; the list of causes beside it holds all of it.
TODOS = 6
# Something was measured and does not hold; every other reason says that it could not be told.
_MISSED = frozenset({"criterion", "not_uniform", "suspect_check"})


@dataclass(frozen=True, slots=True)
class Stop:
    """One cause: an item with one verdict for one reason, on however many nodes; or nodes that say nothing."""

    verdict: str
    title: str
    item: str
    where: str
    now: str
    needs: str
    owner: str
    observed_at: datetime | None
    href: str
    nodes: int
    remedy: str
    state_href: str = ""
    usd_per_hour: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """What one role must do."""

    owner: str
    people: str
    mine: bool
    todos: tuple[Stop, ...]
    more: int


def stops_of(answer: Answer, *, cluster: Cluster, rules: Mapping[str, Rules]) -> tuple[Stop, ...]:
    """The answer's reasons by cause, worst first; among equals the wider cause first, then the catalogue's order.

    One cause is one item that fails alike on some nodes, or one reason for which some nodes could not be measured: a
    tool that hangs takes a dozen items with it, and is one thing to mend.
    """
    cut_off = answer.reasons_total > len(answer.reasons)
    stops = [_stop(held, cluster=cluster, rules=rules, cut_off=cut_off) for held in _causes(answer.reasons, rules)]
    place = {key: number for number, key in enumerate(rules)}
    return tuple(
        sorted(
            stops,
            key=lambda stop: (words.WORST_FIRST.index(stop.verdict), -stop.nodes, place.get(stop.item, len(place))),
        )
    )


def acts_of(stops: Sequence[Stop], *, roles: Collection[str], people: Mapping[str, Sequence[str]]) -> tuple[Act, ...]:
    """The causes by who must act on them, the reader's own first."""
    by_owner: dict[str, list[Stop]] = {}
    for stop in stops:
        by_owner.setdefault(stop.owner, []).append(stop)
    acts = [
        Act(
            owner,
            ", ".join(people.get(owner, ())),
            owner in roles,
            tuple(todos[:TODOS]),
            max(0, len(todos) - TODOS),
        )
        for owner, todos in by_owner.items()
    ]
    return tuple(sorted(acts, key=lambda act: not act.mine))


def _causes(reasons: Sequence[Why], rules: Mapping[str, Rules]) -> list[list[Why]]:
    by_item: dict[tuple[str, str, str], list[Why]] = {}
    for why in reasons:
        by_item.setdefault((why.item, why.code.value, why.verdict.value), []).append(why)
    causes: dict[tuple[object, ...], list[Why]] = {}
    for (item, code, verdict), held in by_item.items():
        alone = item if code in _MISSED or _is_stated(rules.get(item)) else ""
        causes.setdefault((alone, code, verdict, frozenset(why.node for why in held)), []).extend(held)
    return list(causes.values())


def _is_stated(rules: Rules | None) -> bool:
    """Whether people state it: each of these is a question of its own, and not one thing to mend."""
    return rules is not None and rules.item.source is Source.ATTESTED


def _stop(held: Sequence[Why], *, cluster: Cluster, rules: Mapping[str, Rules], cut_off: bool) -> Stop:
    why, nodes = held[0], list(dict.fromkeys(one.node for one in held if one.node))
    items = list(dict.fromkeys(one.item for one in held if one.item))
    known = rules.get(items[0]) if len(items) == 1 else None
    return Stop(
        verdict=why.verdict.value,
        title=known.item.texts(get_language() or "en").title if known else _whole_title(why),
        item=items[0] if known else _items_said(items, cut_off=cut_off),
        where=_where(held, nodes),
        now=_now(held, known),
        needs=_needs(why, known),
        owner=Counter(one.owner.value for one in held).most_common(1)[0][0],
        observed_at=min((one.observed_at for one in held if one.observed_at), default=None),
        href=_href(cluster, items, why, nodes),
        nodes=len(nodes),
        remedy=first_sentence(known.item.texts(get_language() or "en").remedy) if known else _whole_remedy(why),
    )


def _where(held: Sequence[Why], nodes: Sequence[str]) -> str:
    folded = fold_node_set(nodes)
    subjects = sorted({one.subject for one in held if one.subject})
    one_item = len({one.item for one in held}) == 1
    return f"{folded} {subjects_said(subjects)}" if len(nodes) == 1 and one_item and subjects else folded


def _now(held: Sequence[Why], known: Rules | None) -> str:
    why = held[0]
    values = list(dict.fromkeys(_value(one, known) for one in held if one.value is not None and one.item))
    if values:
        return ", ".join(values[:3]) + ("…" if len(values) > 3 else "")
    said = capfirst(str(words.REASONS.get(why.code.value, why.code.value)))
    whole = not any(one.item for one in held)
    cadence = words.CADENCES_SHORT.get(str(why.value), "") if whole and why.value else ""
    return _("%(reason)s (%(cadence)s evidence)") % {"reason": said, "cadence": cadence} if cadence else said


def _value(why: Why, known: Rules | None) -> str:
    criterion = _criterion(why, known)
    if known is None or criterion is None:
        return detail_said(figures.shown(why.value))
    return known.named(criterion, figures.shown(why.value, known.item.facts[criterion.fact].value))


def _needs(why: Why, known: Rules | None) -> str:
    criterion = _criterion(why, known)
    if known is None or criterion is None or why.code.value != "criterion":
        return ""
    return known.needs(criterion, {}).removeprefix("= ")


def _criterion(why: Why, known: Rules | None) -> Criterion | None:
    if known is None:
        return None
    return next((one for one in known.item.criteria if one.threshold == why.threshold), None)


def _href(cluster: Cluster, items: Sequence[str], why: Why, nodes: Sequence[str]) -> str:
    if len(items) == 1 and len(nodes) == 1:
        return item_href(cluster, nodes[0], items[0], why.subject)
    if len(items) == 1:
        return reverse("ui:item", args=[cluster.slug, items[0]])
    if len(nodes) == 1 and why.code.value != "unknown_node":
        return reverse("ui:node", args=[cluster.slug, nodes[0]])
    return reverse("ui:cluster", args=[cluster.slug])


def _items_said(items: Sequence[str], *, cut_off: bool) -> str:
    """How many items; the gate cuts its list of reasons off, and then there may be more."""
    if not items:
        return ""
    if cut_off:
        return _("%(n)d items or more") % {"n": len(items)}
    return ngettext("%(n)d item", "%(n)d items", len(items)) % {"n": len(items)}


def _whole_title(why: Why) -> str:
    said = words.WHOLE_TITLES.get(why.code.value) or words.REASONS.get(why.code.value) or why.code.value
    return capfirst(str(said))


def _whole_remedy(why: Why) -> str:
    return str(words.WHOLE_REMEDIES.get(why.code.value, ""))


def first_sentence(text: str) -> str:
    """The first sentence of catalogue prose: what a list has room for; the whole stands on the item's page."""
    ends = [place + len(mark) for mark in (". ", "; ", "。", "；") if (place := text.find(mark)) > 0]
    return text[: min(ends)].strip().rstrip(";；") if ends else text
