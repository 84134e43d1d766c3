"""Marks, hours and texts of incidents. Every mark has a shape of its own, its word, and a colour."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from portal.ui import figures, incident_words, times
from portal.ui.markdown import as_html

register = template.Library()

_TABLES = {
    "weight": incident_words.WEIGHTS,
    "component": incident_words.COMPONENTS,
    "relation": incident_words.RELATIONS,
    "standing": incident_words.STANDINGS,
    "kind": incident_words.ACTION_KINDS,
    "event": incident_words.EVENTS,
    "opener": incident_words.OPENERS,
}


def _mark(symbol: str, colour: str, word: Any) -> SafeString:
    return format_html(
        '<span class="verdict is-{0}"><svg class="g is-{0}" aria-hidden="true"><use href="#{1}"/></svg>{2}</span>',
        colour, symbol, word,
    )  # fmt: skip


@register.simple_tag
def standing(of: str) -> SafeString:
    """Where an incident stands."""
    return _mark(f"t-{of}", incident_words.STANDING_COLOURS[of], incident_words.STANDINGS[of])


@register.simple_tag
def relation(of: str) -> SafeString:
    """What an item was to an incident."""
    return _mark(f"r-{of}", incident_words.RELATION_COLOURS[of], incident_words.RELATIONS[of])


@register.simple_tag
def action_state(of: str) -> SafeString:
    """How far a corrective action has come."""
    return _mark(f"a-{of}", incident_words.ACTION_COLOURS[of], incident_words.ACTION_STATES[of])


@register.simple_tag
def event_mark(kind: str) -> SafeString:
    """The shape of a line of the timeline; its word stands beside it."""
    symbol, colour = incident_words.EVENT_MARKS[kind]
    return format_html('<svg class="g is-{}" aria-hidden="true"><use href="#{}"/></svg>', colour, symbol)


@register.filter
def said(key: str, table: str) -> Any:
    """The word of *key*; the key itself where it has none, such as the name that a program gives itself."""
    return _TABLES[table].get(key, key)


@register.filter
def gpu_hours(gpu_seconds: int | None) -> str:
    """GPU-hours of GPU-seconds; a dash where nobody said what stood still."""
    if gpu_seconds is None:
        return "—"
    hours = gpu_seconds / 3600
    return figures.number(round(hours) if hours >= 10 else round(hours, 1))


@register.filter
def span(seconds: float | None) -> str:
    """A span of time in words; a dash where there is none."""
    return "—" if seconds is None else times.duration(seconds)


@register.filter
def text_of(texts: Mapping[str, str], digest: str) -> str:
    """The raw text behind a link; empty where none was kept."""
    return texts.get(digest, "")


@register.filter
def markdown(text: str) -> SafeString:
    """A text of people, as Markdown."""
    return as_html(text)
