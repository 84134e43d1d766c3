"""The small parts that every page repeats: verdicts, ages, moments, values."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django import template
from django.conf import settings
from django.forms import BoundField
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from checks.domain.drift.noise import Rule
from checks.models import Cluster, Stage
from checks.selectors.nodesets import fold_node_set
from portal.ui import figures, times, words

register = template.Library()


@register.simple_tag
def glyph(verdict: str) -> SafeString:
    """The shape of a verdict, without a word: only where a word stands beside it."""
    return format_html('<svg class="g is-{0}" aria-hidden="true"><use href="#v-{0}"/></svg>', verdict)


@register.simple_tag
def verdict(verdict: str, word: Any = "") -> SafeString:
    """Shape, word and colour; *word* replaces the verdict's own, e.g. by the decision's."""
    shown = word or words.VERDICTS[verdict]
    return format_html('<span class="verdict is-{}">{}{}</span>', verdict, glyph(verdict), shown)


@register.simple_tag
def chip(verdict: str, count: int | None = None) -> SafeString:
    """A verdict that stands alone, or is counted."""
    shown = words.VERDICTS[verdict]
    label = shown if count is None else format_html("{}&#8239;{}", figures.number(count), shown)
    return format_html('<span class="chip is-{}">{}{}</span>', verdict, glyph(verdict), label)


@register.simple_tag
def tally(verdict: str, count: int) -> SafeString:
    """How many of one verdict: shape and number, the word for those who cannot see the shape."""
    return format_html(
        '<span class="verdict is-{0}" title="{3} {2}">{1}{3}<span class="sr"> {2}</span></span>',
        verdict,
        glyph(verdict),
        words.VERDICTS[verdict],
        figures.number(count),
    )


@register.simple_tag
def counted_verdict(verdict: str, count: int) -> SafeString:
    """How many of one verdict, with its word: where there is room for it."""
    return format_html(
        '<span class="verdict is-{}">{}{}&#8239;{}</span>',
        verdict,
        glyph(verdict),
        figures.number(count),
        words.VERDICTS[verdict],
    )


@register.simple_tag
def age(at: datetime | None, now: datetime) -> SafeString:
    """How long ago, counted on by the browser; the moment itself in ``datetime`` and as a tooltip."""
    if at is None:
        return format_html('<span class="faint">{}</span>', gettext("never"))
    text = times.duration((now - at).total_seconds())
    return format_html(
        '<time datetime="{}" title="{} UTC" data-age>{}</time>',
        times.machine_time(at),
        times.absolute_time(at, now=now),
        text,
    )


@register.simple_tag
def moment(at: datetime | None, now: datetime) -> SafeString:
    """A moment, absolute, in UTC."""
    if at is None:
        return format_html('<span class="faint">{}</span>', gettext("never"))
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        times.machine_time(at),
        at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        times.absolute_time(at, now=now),
    )


@register.simple_tag
def clock(at: datetime, now: datetime) -> SafeString:
    """A moment on a timeline: the time of day within a day, the day before that."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        times.machine_time(at),
        at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        times.time_or_day(at, now=now),
    )


@register.simple_tag
def as_of(now: datetime) -> SafeString:
    """The age of what the page shows; the browser resets it with each answered poll."""
    return format_html('<time datetime="{}" data-age data-as-of>{}</time>', times.machine_time(now), times.duration(0))


@register.simple_tag
def until(at: datetime, now: datetime) -> SafeString:
    """How long from now, in words; the moment itself in ``datetime`` and as a tooltip."""
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        times.machine_time(at),
        times.absolute_time(at, now=now),
        times.duration((at - now).total_seconds()),
    )


@register.filter
def duration(seconds: float) -> str:
    """A span of time in words."""
    return times.duration(seconds)


@register.filter
def figure(number: float) -> str:
    """A number with its thousands apart."""
    return figures.number(number)


@register.filter
def count_short(number: int) -> str:
    """A large count as people say it: 13 B for 13,000,000,000."""
    for size, mark in ((10**12, "T"), (10**9, "B"), (10**6, "M")):
        if number >= size:
            return f"{figures.number(round(number / size, 1))}{figures.NARROW_SPACE}{mark}"
    return figures.number(number)


@register.filter
def folded(names: Sequence[str]) -> str:
    """Host names as Slurm would write them."""
    return fold_node_set(names)


@register.filter
def word(key: str, table: str) -> Any:
    """The word of *key* in one of the tables of ``portal.ui.words``; the key itself where it has none."""
    tables: Mapping[str, Mapping[str, Any]] = {
        "verdict": words.VERDICTS,
        "decision": words.DECISIONS,
        "answer": words.ANSWERS,
        "layer": words.LAYERS,
        "flow": words.FLOWS,
        "owner": words.OWNERS,
        "severity": words.SEVERITIES,
        "cadence": words.CADENCES,
        "owner_short": words.OWNERS_SHORT,
        "node_answer": words.NODE_ANSWERS,
        "trouble": words.TROUBLES,
        "reason": words.REASONS,
        "sign_state": words.SIGN_STATES,
        "role": words.ROLES,
        "stage": words.STAGES,
        "act": words.ACTS,
        "meaning": words.MEANINGS,
    }
    return tables[table].get(key, key)


@register.filter
def actor(role: str) -> str:
    """Who acts in a role; *user*, as catalogues have it, is the owner of a run."""
    return str(words.ROLES.get(role) or words.OWNERS[role])


@register.filter
def shape(decision: str) -> str:
    """The verdict whose shape a decision takes."""
    return words.DECISION_VERDICTS[decision]


@register.simple_tag(takes_context=True)
def live_attributes(context: Context) -> SafeString:
    """What makes an element the page's live part: it asks its own address again with the marker it was made with."""
    request = context["request"]
    query = request.GET.copy()
    query["marker"] = context["marker"]
    return format_html(
        'data-live data-every="{}" hx-get="{}?{}" hx-trigger="ask" hx-target="this" hx-swap="outerHTML"',
        context["every_s"],
        request.path,
        query.urlencode(),
    )


@register.simple_tag
def cluster_link(cluster: Cluster) -> SafeString:
    """A link to the cluster's page, for use inside a sentence."""
    return format_html('<a href="{}">{}</a>', reverse("ui:cluster", args=[cluster.slug]), cluster.slug)


@register.simple_tag
def parts_named(names: Sequence[str]) -> str:
    """Parts of the portal by their titles."""
    return ", ".join(str(words.PARTS[name]) for name in names)


@register.simple_tag
def enrol_command() -> str:
    """The line that installs and enrols an agent; it waits for the token, which never stands in a command line."""
    url = settings.PORTAL_URL
    return f"curl -fsSO {url}/agent/install.sh && sudo sh install.sh --portal {url} --token-file -"


@register.simple_tag
def stage_mark(stage: str) -> SafeString:
    """Where a run is; running and finished are facts, everything before them a way."""
    return format_html('<span class="tag stage-{}">{}</span>', stage, Stage(stage).label)


@register.simple_tag
def sign_state(state: str, slots: int) -> SafeString:
    """The state of a layer's signatures: a dot for each person that is asked, and the word."""
    dots = f"d-{'one' if slots == 1 else 'two'}-{state}"
    return format_html(
        '<span class="state state-{0}"><svg class="dots{1}" aria-hidden="true"><use href="#{2}"/></svg>{3}</span>',
        state,
        " one" if slots == 1 else "",
        dots,
        words.SIGN_STATES[state],
    )


@register.filter
def styled(field: BoundField) -> SafeString:
    """A form field as our components show it; Django adds what says it is wrong and what describes it."""
    return field.as_widget(attrs={"class": "input"})


@register.simple_tag
def html_lang() -> str:
    """The page's language as HTML spells it: ``zh-Hans``, not Django's ``zh-hans``."""
    return "zh-Hans" if (get_language() or "en").startswith("zh") else "en"


@register.simple_tag
def age_units() -> str:
    """Units of age for the browser's own counting."""
    return "|".join(times.age_units())


@register.filter
def marked(text: str) -> SafeString:
    """Catalogue prose: text between backticks is a command or a name; everything else is plain text."""
    pieces = str(text).split("`")
    html = (format_html("<code>{}</code>" if i % 2 else "{}", piece) for i, piece in enumerate(pieces))
    return mark_safe("".join(html))  # noqa: S308  (every piece went through format_html)


@register.simple_tag
def noise_reason(rule: Rule) -> str:
    """Why the settings of a rule say nothing, in the reader's language."""
    return rule.reason(get_language() or "en")


@register.simple_tag
def between(low: float, high: float) -> str:
    """A range of numbers as people say it: with as many digits as it deserves."""
    said = [figures.number(round(number) if number >= 10 else round(number, 2)) for number in (low, high)]
    return said[0] if said[0] == said[1] else f"{said[0]}–{said[1]}"
