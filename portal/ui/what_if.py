"""A what-if as its address describes it: the form, what it is held against, and what it comes to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from django.http import QueryDict

from checks.domain.cost.errors import ImpossibleInput, PriceMissing
from checks.domain.cost.prices import Book
from checks.domain.cost.scenario import Scenario
from checks.models import Run
from checks.selectors.costs import NoPrices, starting_scenario
from portal.ui.pages.costs import CostsPage, Sum, costs_page
from portal.ui.scenario_form import ScenarioForm, query_of, values_of

# Where nothing was said: a large run on the newest machines.
USUAL = Scenario(gpus=512, days=30)


@dataclass(frozen=True, slots=True)
class Asked:
    """The what-if that an address describes: its form, and its page unless something has to be mended first."""

    form: ScenarioForm
    usual: dict[str, str]
    kept: Sum | None
    page: CostsPage | None
    refused: str

    @property
    def query(self) -> str:
        """The what-if as a query, without what is as usual."""
        return query_of({name: str(self.form.data.get(name, "")) for name in self.form.fields}, self.usual)


def ask(query: QueryDict, known: tuple[Book, ...], *, run: Run | None, today: date) -> Asked:
    """Read the what-if out of *query*; it begins with what is known of *run*. ``against=`` is what it is held against.

    Raises:
        NoPrices: no price book is loaded.
    """
    if not known:
        raise NoPrices
    usual = values_of(USUAL if run is None else starting_scenario(run), known[0].provider)
    form = ScenarioForm(_given(query, usual), books=known)
    kept = _kept(query.get("against", ""), usual, known, today)
    page, refused = _worked_out(form, kept, today)
    return Asked(form, usual, kept, page, refused)


def query_for(scenario: Scenario, provider: str) -> str:
    """The address of a what-if that differs from the usual one in what *scenario* says."""
    return query_of(values_of(scenario, provider), values_of(USUAL, ""))


def _given(query: QueryDict, usual: Mapping[str, str]) -> dict[str, str]:
    return {**usual, **{name: str(query[name]) for name in usual if name in query}}


def _kept(query: str, usual: dict[str, str], known: tuple[Book, ...], today: date) -> Sum | None:
    """What it is held against; nothing where that address says nothing that can be worked out."""
    if not query:
        return None
    page, _refused = _worked_out(ScenarioForm(_given(QueryDict(query), usual), books=known), None, today)
    return page.sum if page else None


def _worked_out(form: ScenarioForm, kept: Sum | None, today: date) -> tuple[CostsPage | None, str]:
    """The page, or the sentence that stands beside a field."""
    if form.is_valid():
        try:
            return costs_page(form.scenario(), form.book, kept=kept, today=today), ""
        except ImpossibleInput as error:
            form.refuse(error)
        except PriceMissing as error:
            form.add_error("route", error.message)
    return None, next((str(said) for errors in form.errors.values() for said in errors), "")
