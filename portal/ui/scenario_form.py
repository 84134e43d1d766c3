"""The form of a what-if: every input of an estimate in the unit that people think in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields as inputs_of
from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.prices import Book, PriceKind
from checks.domain.cost.scenario import BOUNDS, Layout, RestartTimes, Route, Scenario
from portal.ui.cost_words import FIELDS, LAYOUTS, ROUTES, RULES

# Carried along, but no input of the sum.
BESIDES = ("run", "currency", "against")
_RESTART = tuple(field.name for field in inputs_of(RestartTimes))
_SAME_NAMED = (
    "gpus", "days", "gpus_per_node", "sku", "region", "gpu_price", "spot_price", "spot_monthly_percent",
    "checkpoint_gb", "keep_last", "keep_every", "write_gb_s", "read_gb_s", "destination", "month_to_date_gb",
    "checkpoints_moved",
    "step_s", "window_h_a_day", "idle_h", "warm_nodes", "warm_acquire_s", "rehearsal_h", "parameters", "rates",
    "extra_steps",
)  # fmt: skip
_TIMES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_COUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMBT]?)", re.IGNORECASE)
_BETWEEN = {
    "min_value": gettext_lazy("Give %(limit_value)s or more."),
    "max_value": gettext_lazy("Give %(limit_value)s or less."),
}


class CountField(forms.CharField):
    """A large count as people write it: ``13B``."""

    def clean(self, value: Any) -> float:
        match = _COUNT.fullmatch(super().clean(value).replace(",", "").strip())
        number = float(match[1]) * _TIMES[match[2].upper()] if match else 0.0
        if not 0 < number <= 1e18:
            raise forms.ValidationError(_("Write a number such as 13B, 700M or 13000000000."))
        return number


class ThreeField(forms.CharField):
    """Three numbers that rise: low, expected, high."""

    def __init__(self, *, whole: bool, **kwargs: Any) -> None:
        super().__init__(max_length=60, **kwargs)
        self._kind: type[int] | type[float] = int if whole else float

    def clean(self, value: Any) -> tuple[float, ...]:
        parts = re.split(r"[,;/\s]+", super().clean(value).strip())
        try:
            numbers = tuple(self._kind(part) for part in parts)
        except ValueError:
            numbers = ()
        if len(numbers) != 3 or not 0 <= numbers[0] <= numbers[1] <= numbers[2] <= 1e6:
            raise forms.ValidationError(_("Give three numbers that rise: low, expected, high."))
        return numbers


def _number(label: Any, bounds: str | tuple[float, float], **more: Any) -> forms.FloatField:
    least, most = BOUNDS[bounds] if isinstance(bounds, str) else bounds
    return forms.FloatField(
        label=label, min_value=least, max_value=most, error_messages=_BETWEEN, widget=_typed("decimal"), **more
    )


def _whole(label: Any, bounds: str, **more: Any) -> forms.IntegerField:
    least, most = BOUNDS[bounds]
    return forms.IntegerField(
        label=label,
        min_value=int(least),
        max_value=int(most),
        error_messages=_BETWEEN,
        widget=_typed("numeric"),
        **more,
    )


def _decimal(label: Any, bounds: str, **more: Any) -> forms.DecimalField:
    least, most = (Decimal(str(end)) for end in BOUNDS[bounds])
    return forms.DecimalField(
        label=label, min_value=least, max_value=most, error_messages=_BETWEEN, required=False,
        widget=_typed("decimal"), **more,
    )  # fmt: skip


def _typed(kind: str) -> forms.NumberInput:
    return forms.NumberInput(attrs={"step": "any", "inputmode": kind})


def _seconds(label: Any) -> forms.FloatField:
    return _number(label, (0, 86_400))


class ScenarioForm(forms.Form):
    """One what-if. Errors stand beside the field that can mend them, the domain's refusals among them."""

    interval_min = _number(
        gettext_lazy("Checkpoint every, minutes"), (0.02, 43_200), required=False,
        help_text=gettext_lazy("Empty: the best interval."),
    )  # fmt: skip
    keep_last = _whole(gettext_lazy("Checkpoints kept"), "keep_last")
    route = forms.ChoiceField(label=gettext_lazy("Way of the checkpoints"), choices=list(ROUTES.items()))
    spot_percent = _number(gettext_lazy("Spot share, %"), (0, 100))
    write_gb_s = _number(gettext_lazy("Write bandwidth, GB/s"), "write_gb_s")

    provider = forms.ChoiceField(label=gettext_lazy("Price book"))
    region = forms.ChoiceField(label=gettext_lazy("Region"))
    sku = forms.ChoiceField(label=gettext_lazy("Machine"))
    gpus = _whole(gettext_lazy("GPUs"), "gpus")
    gpus_per_node = _whole(gettext_lazy("GPUs a node"), "gpus_per_node")
    days = _number(gettext_lazy("Days of training"), "days", help_text=gettext_lazy("As if nothing ever stopped it."))
    gpu_price = _decimal(
        gettext_lazy("USD a GPU hour"), "gpu_price", help_text=gettext_lazy("Empty: the price book's.")
    )
    spot_price = _decimal(
        gettext_lazy("USD a spot GPU hour"), "spot_price", help_text=gettext_lazy("Empty: the price book's.")
    )
    spot_monthly_percent = _number(gettext_lazy("Taken back in a month, %"), "spot_monthly_percent")

    parameters = CountField(label=gettext_lazy("Parameters"), max_length=32)
    layout = forms.ChoiceField(label=gettext_lazy("A checkpoint keeps"), choices=list(LAYOUTS.items()))
    checkpoint_gb = _decimal(
        gettext_lazy("Size of one, GB"), "checkpoint_gb",
        help_text=gettext_lazy("Empty: parameters times layout; measured is better."),
    )  # fmt: skip
    keep_every = _whole(gettext_lazy("Every n-th for good"), "keep_every", help_text=gettext_lazy("0: none."))
    read_gb_s = _number(gettext_lazy("Read bandwidth, GB/s"), "read_gb_s")
    destination = forms.CharField(
        label=gettext_lazy("To which region"), max_length=40, required=False,
        help_text=gettext_lazy("Where a pair of regions has a price of its own; empty: any other."),
    )  # fmt: skip
    month_to_date_gb = _decimal(gettext_lazy("Sent this month, GB"), "month_to_date_gb")
    checkpoints_moved = _whole(
        gettext_lazy("Checkpoints moved"), "checkpoints_moved", required=False, help_text=gettext_lazy("Empty: all.")
    )

    rates = ThreeField(
        label=gettext_lazy("Failures in 1,000 node-days"), whole=False,
        help_text=gettext_lazy("Few, as expected, many: every range on this page comes from them."),
    )  # fmt: skip
    acquire_s = _seconds(gettext_lazy("Machine, s"))
    boot_s = _seconds(gettext_lazy("Boot, s"))
    pull_s = _seconds(gettext_lazy("Image pull, s"))
    refill_s = _seconds(gettext_lazy("Data cache, s"))
    init_s = _seconds(gettext_lazy("Communicators, s"))
    compile_s = _seconds(gettext_lazy("Compiling, s"))
    step_s = _number(gettext_lazy("One step, s"), "step_s")
    extra_steps = ThreeField(label=gettext_lazy("Extra warm-up steps"), whole=True)

    window_h_a_day = _number(gettext_lazy("Window, h a day"), "window_h_a_day")
    idle_h = _number(gettext_lazy("Idle before the first step, h"), "idle_h")
    warm_nodes = _whole(gettext_lazy("Warm spare nodes"), "warm_nodes")
    warm_acquire_s = _number(gettext_lazy("Wait for a spare, s"), "warm_acquire_s")
    rehearsal_h = _number(gettext_lazy("Rehearsal, h"), "rehearsal_h")

    def __init__(self, given: Mapping[str, Any], *, books: Sequence[Book]) -> None:
        super().__init__(dict(given))
        self.books = {book.provider: book for book in books}
        book = self.book
        #: Whether another price book took region and machine along, for lack of those that were chosen.
        self.moved = self._fit("region", book.regions) | self._fit("sku", book.skus)
        self._choose("provider", [(each.provider, each.name) for each in books])
        self._choose("region", [(region, region) for region in book.regions])
        self._choose("sku", [(sku, sku) for sku in book.skus])

    @property
    def book(self) -> Book:
        """The price book that was chosen, or the first."""
        first = next(iter(self.books.values()))
        return self.books.get(str(self.data.get("provider", "")), first)

    def clean_spot_percent(self) -> float:
        """The share as the domain has it."""
        return float(self.cleaned_data["spot_percent"]) / 100

    def clean(self) -> dict[str, Any]:
        """A machine that the book does not price there can be priced by hand."""
        cleaned = super().clean() or {}
        region, sku = cleaned.get("region"), cleaned.get("sku")
        priced = cleaned.get("gpu_price") or any(self.book.of(PriceKind.GPU_HOUR, region=region, sku=sku))
        if region and sku and not priced:
            said = _("%(book)s has no price of %(sku)s in %(region)s: choose another, or give USD a GPU hour.")
            self.add_error("sku", said % {"book": self.book.name, "sku": sku, "region": region})
        return cleaned

    def scenario(self) -> Scenario:
        """The what-if that the fields describe."""
        given = self.cleaned_data
        minutes = given["interval_min"]
        same = {name: given[name] for name in _SAME_NAMED}
        same["month_to_date_gb"] = same["month_to_date_gb"] or Decimal(0)
        return Scenario(
            **same,
            interval_s=None if minutes is None else minutes * 60,
            route=Route(given["route"]),
            layout=Layout(given["layout"]),
            spot_share=given["spot_percent"],
            restart=RestartTimes(**{name: given[name] for name in _RESTART}),
        )

    def refuse(self, error: ImpossibleInput) -> None:
        """Say what the domain refused, beside the field that can mend it."""
        name = FIELDS.get(error.field, error.field)
        said = str(RULES.get(error.rule, error.message))
        self.add_error(name if name in self.fields else None, said)

    def _fit(self, name: str, known: Sequence[str]) -> bool:
        if not known or self.data.get(name) in known:
            return False
        self.data = {**self.data, name: known[0]}
        return True

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (declared above)
        field.choices = choices


def values_of(scenario: Scenario, provider: str) -> dict[str, str]:
    """A what-if as its form shows it, every value as text."""
    named: dict[str, Any] = {name: getattr(scenario, name) for name in _SAME_NAMED}
    named |= {name: getattr(scenario.restart, name) for name in _RESTART}
    named |= {
        "provider": provider, "route": scenario.route.value, "layout": scenario.layout.value,
        "spot_percent": scenario.spot_share * 100,
        "interval_min": None if scenario.interval_s is None else scenario.interval_s / 60,
    }  # fmt: skip
    return {name: _text(name, value) for name, value in named.items()}


def query_of(given: Mapping[str, str], usual: Mapping[str, str]) -> str:
    """*given* as a query string, without what is as *usual*: the same what-if has one short address."""
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in given.items() if value != usual.get(name, "")})
    return query.urlencode()


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "parameters":
        return _short(float(value))
    if isinstance(value, tuple):
        return ", ".join(_plain(one) for one in value)
    return value if isinstance(value, str) else _plain(value)


def _plain(value: Any) -> str:
    return f"{float(value):.10g}" if isinstance(value, int | float) else f"{Decimal(value).normalize():f}"


def _short(number: float) -> str:
    for mark in ("T", "B", "M"):
        if number >= _TIMES[mark]:
            return f"{number / _TIMES[mark]:.6g}{mark}"
    return f"{number:.0f}"
