"""What audits found about a run becomes rows: what several tools say of one item stands together.

Each tool's latest word on an item counts until it speaks again, so that a log's volume and a script's variables make
one verdict. Rows are worked out from stored evidence alone: judging again after the run's artefacts changed is the same
act as judging new evidence.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from checks.domain.facts import Fact, Problem, ProblemKind
from checks.domain.freshness import valid_until
from checks.domain.items import Item
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Scope, Source
from checks.models import Run, RunEvidence, ScopeState
from checks.selectors.rules import ruleset_for
from checks.selectors.shared_rows import subject_of
from checks.services.judging import judge_audited
from checks.services.run_facts import facts_of_portal
from checks.services.scope_rows import as_state, lock_scope_row, write_back

#: What an audit can speak about: not what a node holds, and not what a whole cluster shares.
AUDITED_SCOPES: Final = frozenset({Scope.RUN, Scope.ARTEFACT, Scope.DATASET})
AUDITED_SOURCES: Final = frozenset({Source.PROBE, Source.AUDIT})

_NOT_THE_SIGNED_ONE: Final = "the audited file is not the signed one"
_NONE_OF_THE_SIGNED: Final = "none of the audited files is among the artefacts that the run names"


def judge_run_items(run: Run, items: Iterable[str], *, now: datetime) -> dict[str, ScopeState]:
    """The rows of *items* from all evidence of *run*, inside a transaction that holds the run's lock.

    Items that do not apply to the cluster, or of which nothing was sent, get no row.
    """
    ruleset = ruleset_for(run.cluster)
    judged = {}
    for key in sorted({*items} & ruleset.applicable):
        words = _latest_words(run, ruleset.items[key])
        if words:
            judged[key] = _judge_item(run, ruleset, ruleset.items[key], words, now)
    return judged


def audited_items(run: Run) -> frozenset[str]:
    """Every item of which some audit of *run* told."""
    covered = RunEvidence.objects.filter(run=run).values_list("covered", flat=True)
    return frozenset(item for items in covered for item in items)


def _latest_words(run: Run, item: Item) -> list[RunEvidence]:
    """The latest evidence of each tool on *item*, newest first; of a dataset that of every run that reads it."""
    told = RunEvidence.objects.filter(covered__contains=[item.key])
    if item.scope is Scope.DATASET:
        told = told.filter(run__cluster=run.cluster_id, dataset=run.dataset)
    else:
        told = told.filter(run=run)
    latest = told.order_by("tool", "-observed_at", "-pk").distinct("tool")
    return sorted(latest, key=lambda one: (one.observed_at, one.pk), reverse=True)


def _judge_item(run: Run, ruleset: Ruleset, item: Item, words: Sequence[RunEvidence], now: datetime) -> ScopeState:
    facts = [fact for one in reversed(words) for fact in _facts(run, item, one)]  # of two of one moment the last counts
    problems = [problem for one in words for problem in _problems(run, item, one)]
    row = lock_scope_row(run.cluster, item, subject_of(item.scope, run), now=now)
    after = judge_audited(as_state(row), item, facts + facts_of_portal(run, item, facts, now=now), problems, now=now)
    after.observed_at = words[0].observed_at
    after.valid_until = valid_until(words[-1].observed_at, item.cadence, timedelta(0), item)
    after.evidence = next((one.texts[item.key] for one in words if item.key in one.texts), "")
    return write_back(row, after)


def _facts(run: Run, item: Item, told: RunEvidence) -> list[Fact]:
    """What *told* measured of *item*; of files that are not the run's own nothing is believed."""
    if item.scope is Scope.ARTEFACT and _doubt(run, told):
        return []
    return [
        Fact(item.key, "", one["name"], one["value"], one["unit"], told.observed_at)
        for one in told.facts
        if one["item"] == item.key
    ]


def _problems(run: Run, item: Item, told: RunEvidence) -> list[Problem]:
    met = [
        Problem(item.key, None, ProblemKind(one["kind"]), one["detail"])
        for one in told.problems
        if one["item"] == item.key
    ]
    if item.scope is Scope.ARTEFACT and (doubt := _doubt(run, told)):
        met.insert(0, Problem(item.key, None, ProblemKind.ERROR, doubt))
    return met


def _doubt(run: Run, told: RunEvidence) -> str:
    """Why the files that *told* read are not taken for the run's own; empty where they are, or where nobody can say.

    A run that names no artefacts has none to compare with, and a log is none.
    """
    strangers = [one["name"] for one in told.artefacts if _is_stranger(one, run.artefacts)]
    if strangers:
        return f"{_NOT_THE_SIGNED_ONE}: {', '.join(strangers)}"
    signed = {one["digest"] for one in run.artefacts}
    if signed and told.artefacts and signed.isdisjoint(one["digest"] for one in told.artefacts):
        return _NONE_OF_THE_SIGNED
    return ""


def _is_stranger(read: dict[str, Any], artefacts: Sequence[dict[str, Any]]) -> bool:
    """Whether it bears the name of one of the run's artefacts and is another file."""
    if read["digest"] in {one["digest"] for one in artefacts}:
        return False
    return any(one["name"] == read["name"] or _last(one["name"]) == _last(read["name"]) for one in artefacts)


def _last(name: str) -> str:
    return name.rpartition("/")[2]
