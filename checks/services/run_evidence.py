"""Takes in what an audit found about a run: stored once, judged and settled at once, and noted in the ledger."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec
from django.db import transaction
from msgspec import Struct

from checks.domain.errors import CountersignError
from checks.domain.items import Item
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Scope, Verdict
from checks.domain.writing import is_line, is_storable
from checks.models import OVER, Evidence, Run, RunEvidence, ScopeState, Token
from checks.selectors.rules import ruleset_for
from checks.selectors.shared_rows import subject_of
from checks.services.evidence import evidence_rows
from checks.services.ledger import write_entry
from checks.services.receipts import VerdictLine
from checks.services.run_evidence_v1 import RunEvidenceV1
from checks.services.run_judging import AUDITED_SCOPES, AUDITED_SOURCES, judge_run_items
from checks.services.runs import lock_run

#: What is older counts as that old: an audit is sent as soon as it ends, and a clock may say anything.
_OLDEST: Final = timedelta(days=7)


class InvalidEvidence(CountersignError):
    """The evidence cannot be about this run as it was sent; the sentence says what to change. Nothing was stored."""

    code = "invalid_evidence"


class EvidenceOfAnother(CountersignError):
    """One id is one piece of evidence: it was sent for another run."""

    code = "evidence_of_another_run"
    status = 409


class RunIsOver(CountersignError):
    """Nothing is measured for a run that has ended."""

    code = "run_over"
    status = 409


class EvidenceReceipt(Struct):
    """What a 202 says."""

    evidence_id: UUID
    duplicate: bool
    verdicts: list[VerdictLine]
    accepted: bool = True


@transaction.atomic
def record_run_evidence(
    *, run: Run, token: Token, evidence: RunEvidenceV1, age_s: float | None, received_at: datetime
) -> EvidenceReceipt:
    """Store *evidence* about *run*, judge what it covers, and answer with the verdicts; the same id twice is once.

    *age_s* is how long ago it was measured, by the sender's own count.

    Raises:
        InvalidEvidence: it covers what no audit of a run measures, or speaks of what it does not cover.
        EvidenceOfAnother, RunIsOver.
    """
    run = lock_run(run)
    ruleset = ruleset_for(run.cluster)
    known = RunEvidence.objects.filter(evidence_id=evidence.evidence_id).first()
    if known is not None:
        if known.run_id != run.pk:
            raise EvidenceOfAnother("This evidence_id was sent for another run; give each piece of evidence its own.")
        return _receipt(run, ruleset, known, duplicate=True)
    _require_takable(run, ruleset, token, evidence)
    stored = _store(run, token, evidence, _observed_at(age_s, received_at), received_at)
    judge_run_items(run, evidence.covered, now=received_at)
    receipt = _receipt(run, ruleset, stored, duplicate=False)
    _note(stored, token, receipt, received_at)
    return receipt


def _require_takable(run: Run, ruleset: Ruleset, token: Token, evidence: RunEvidenceV1) -> None:
    if run.stage in OVER:
        raise RunIsOver(f"{run.slug} is {run.stage}; nothing is measured for it any more.")
    if token.node is not None and token.node.origin == "replay":
        raise InvalidEvidence("A replayed node measures nothing; send evidence of a run from the machine that ran it.")
    if not is_storable(evidence.finished_at):
        raise InvalidEvidence("finished_at lies outside of the years 2000 to 2199; set the clock of that machine.")
    for key in evidence.covered:
        _require_auditable(run, ruleset.items.get(key), key)
    covered = {*evidence.covered}
    spoken = [*(fact.item for fact in evidence.facts), *(problem.item for problem in evidence.problems)]
    if stray := next((item for item in spoken if item not in covered), None):
        raise InvalidEvidence(f"It speaks of {stray}, which it does not cover; name it in covered, or leave it out.")
    lines = [evidence.tool, evidence.hostname, evidence.agent_version, *(one.name for one in evidence.artefacts)]
    if unseen := next((line for line in lines if not is_line(line)), None):
        raise InvalidEvidence(f"{unseen!r} holds signs that nobody sees; write names without them.")


def _require_auditable(run: Run, item: Item | None, key: str) -> None:
    if item is None:
        raise InvalidEvidence(f"There is no item {key!r}; the portal's catalogue may be older than the sender.")
    if item.scope not in AUDITED_SCOPES or item.source not in AUDITED_SOURCES:
        raise InvalidEvidence(f"{key} is not measured for a run: it is {item.source} of scope {item.scope}.")
    if item.scope is Scope.DATASET and not run.dataset:
        raise InvalidEvidence(f"{run.slug} names no dataset, which {key} is about; write it into the run first.")


def _observed_at(age_s: float | None, received_at: datetime) -> datetime:
    """When it was measured, by our clock: the sender's own clock may be wrong, its count of seconds is not."""
    return received_at - timedelta(seconds=min(age_s or 0.0, _OLDEST.total_seconds()))


def _store(run: Run, token: Token, sent: RunEvidenceV1, observed_at: datetime, received_at: datetime) -> RunEvidence:
    rows = evidence_rows(sent.evidence)
    Evidence.objects.bulk_create(
        [
            Evidence(digest=row.digest, probe=row.probe, text=row.text, truncated=row.truncated, stored_at=received_at)
            for row, _items in {row.digest: (row, items) for row, items in rows}.values()
        ],
        ignore_conflicts=True,
    )
    return RunEvidence.objects.create(
        evidence_id=sent.evidence_id, run=run, tool=sent.tool, hostname=sent.hostname, token=token.key,
        agent_version=sent.agent_version, finished_at=sent.finished_at, observed_at=observed_at,
        received_at=received_at, dataset=run.dataset, covered=list(dict.fromkeys(sent.covered)),
        facts=_plain(sent.facts), problems=_plain(sent.problems), artefacts=_plain(sent.artefacts),
        texts=_texts(sent),
    )  # fmt: skip


def _texts(sent: RunEvidenceV1) -> dict[str, str]:
    """The text to show beside each item; of several the last."""
    return {item: one.sha256 for one in sent.evidence for item in one.items if item in sent.covered}


def _plain(sent: Iterable[Struct]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(one) for one in sent]


def _receipt(run: Run, ruleset: Ruleset, told: RunEvidence, *, duplicate: bool) -> EvidenceReceipt:
    """The verdicts as they stand now; an item that does not apply here says so."""
    rows = {row.item: row for row in _rows(run, ruleset, told)}
    return EvidenceReceipt(
        told.evidence_id, duplicate, [_line(run, ruleset, key, rows.get(key)) for key in told.covered]
    )


def _rows(run: Run, ruleset: Ruleset, told: RunEvidence) -> Iterable[ScopeState]:
    subjects = {run.slug, run.dataset}
    found = ScopeState.objects.filter(cluster=run.cluster_id, item__in=told.covered, subject__in=subjects)
    return [
        row
        for row in found
        if row.item in ruleset.items and row.subject == subject_of(ruleset.items[row.item].scope, run)
    ]


def _line(run: Run, ruleset: Ruleset, key: str, row: ScopeState | None) -> VerdictLine:
    if row is not None:
        return VerdictLine(key, row.subject, row.raw, row.severity, row.reason, row.detail)
    item = ruleset.items.get(key)
    verdict = Verdict.UNKNOWN if item is None or ruleset.applies(key) else Verdict.NA
    return VerdictLine(key, "" if item is None else subject_of(item.scope, run), verdict, "", "", "")


def _note(told: RunEvidence, token: Token, receipt: EvidenceReceipt, now: datetime) -> None:
    write_entry(
        what="run_measured", target=told.run.slug, cluster=told.run.cluster, now=now,
        data={
            "evidence_id": str(told.evidence_id), "tool": told.tool, "hostname": told.hostname, "token": token.key,
            "verdicts": {line.item: line.verdict for line in receipt.verdicts}, "artefacts": told.artefacts,
        },
    )  # fmt: skip
