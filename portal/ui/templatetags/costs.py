"""Sums of money, prices and shares, as the pages about costs show them."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, ngettext

from checks.domain.cost.studies import PublishedCause, Skipped
from portal.ui import times
from portal.ui.money import Purse
from portal.ui.templatetags.countersign import glyph

register = template.Library()


def _purse(context: Context) -> Purse:
    held = context.get("purse")
    return held if isinstance(held, Purse) else Purse()


@register.simple_tag(takes_context=True)
def usd(context: Context, amount: Decimal | None) -> str:
    """US dollars in the page's currency, without cents."""
    return "—" if amount is None else _purse(context).whole(amount)


@register.simple_tag(takes_context=True)
def usd_exact(context: Context, amount: Decimal | None) -> str:
    """The same to the cent."""
    return "—" if amount is None else _purse(context).exact(amount)


@register.simple_tag(takes_context=True)
def usd_cell(context: Context, amount: Decimal) -> SafeString:
    """A cell that a chart can be drawn from."""
    purse = _purse(context)
    return format_html('<td class="num" data-value="{}">{}</td>', purse.of(amount), purse.whole(amount))


@register.simple_tag(takes_context=True)
def usd_change(context: Context, amount: Decimal) -> str:
    """A difference with its sign; what is less than a unit is none."""
    purse = _purse(context)
    if abs(purse.of(amount)) < 1:
        return "±0"
    return f"{'+' if amount > 0 else '−'}{purse.whole(abs(amount))}"


@register.simple_tag
def usd_price(amount: Decimal) -> str:
    """A price as its row has it: always US dollars, every digit that counts."""
    text = f"{amount.normalize():f}"
    whole, _point, cents = text.partition(".")
    return f"{int(whole):,}.{cents.ljust(2, '0')}"


@register.filter
def plain(number: float) -> str:
    """A number for a program."""
    return f"{number:.10g}"


@register.simple_tag
def per_cent(share: float) -> str:
    """A share of one."""
    return f"{100 * share:.2f}\u202f%"


@register.simple_tag
def day(at: date) -> str:
    """A day, absolute."""
    return at.isoformat()


@register.simple_tag
def causes_told(skipped: Skipped) -> str:
    """What the interruptions of a study came from, with their numbers."""
    return ", ".join(f"{cause_told(cause)} ({cause.times})" for cause in skipped.causes)


@register.simple_tag
def cause_told(cause: PublishedCause) -> str:
    """One published cause in the reader's language."""
    return cause.told(get_language() or "en")


@register.simple_tag
def share_of(part: int, whole: int) -> str:
    """A count as its share of another, computed."""
    return per_cent(part / whole)


@register.filter
def at(held: Sequence[str], place: int) -> str:
    """What stands at that place."""
    return held[place]


@register.simple_tag
def hours(number: float) -> str:
    """Hours as people say them."""
    return times.duration(number * 3600)


@register.simple_tag
def book_age(page: Any) -> SafeString:
    """The age of a price book, marked once it should be looked up again."""
    return age_of_prices(page.book_age_days, page.is_aged)


@register.simple_tag
def age_of_prices(days: int, is_aged: bool) -> SafeString:
    """How old prices are; amber from 90 days."""
    said = ngettext("%(n)d day", "%(n)d days", days) % {"n": days}
    if not is_aged:
        return format_html("{}", said)
    title = gettext("older than 90 days: look the prices up again")
    return format_html('<span class="verdict is-warn" title="{}">{}{}</span>', title, glyph("warn"), said)
