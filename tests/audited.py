"""Sound evidence: what audits tell of a run of which every file is right, and what a node measured in a window."""

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from checks.domain.items import Item
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence, Layer
from checks.models import Run, TokenKind
from checks.selectors.rules import ruleset_for
from checks.services.run_evidence import record_run_evidence
from checks.services.run_evidence_v1 import RunEvidenceV1
from checks.services.run_judging import AUDITED_SCOPES, AUDITED_SOURCES
from checks.services.tokens import issue_token
from tests.fleet import facts_at_thresholds

#: What the thresholds of the catalogue do not spell out.
WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "data-shard-balance": {
        "tokens_min": 998, "tokens_max": 1001, "tokens_mean": 1000, "measured_in": "tokens", "shard_remainder": 0,
        "seeded_global_index": False,
    },
    "data-integrity": {
        "token_max": 31_999, "vocabulary_size": 32_000, "index_errors": 0, "files_differing": 0,
        "dtype_too_narrow": False,
    },
    "collective-timeout": {"timeout": 1800, "twice_save": 600, "flight_recorder": True},
    "scheduler-fit": {"time_limit": 60 * 86_400, "requeue": True, "reservation_covers": True},
}  # fmt: skip


def audited_items(rules: Ruleset, layers: Iterable[Layer] = Layer) -> list[Item]:
    """Items that audits tell of a run under *rules*, and that count."""
    return [
        item
        for key, item in rules.items.items()
        if item.scope in AUDITED_SCOPES and item.source in AUDITED_SOURCES and item.cadence is Cadence.RUN
        and rules.applies(key) and not item.shadow and item.layer in set(layers)
    ]  # fmt: skip


def sound_evidence(items: Iterable[Item], changed: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """The document of one audit that found everything right about *items*, but for facts that are *changed*."""
    known = list(items)
    return {
        "schema": 1, "evidence_id": str(uuid.uuid4()), "tool": "audit all", "agent_version": "0.1.0",
        "hostname": "login-1", "finished_at": "2026-11-30T11:59:58.000Z", "covered": [item.key for item in known],
        "facts": [
            {"item": item.key, "name": name, "value": value, "unit": item.facts[name].value}
            for item in known
            for name, value in _said(item, (changed or {}).get(item.key, {})).items()
        ],
        "problems": [], "evidence": [], "artefacts": [],
    }  # fmt: skip


def _said(item: Item, changed: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**(WRITTEN.get(item.key) or facts_at_thresholds(item)), **changed}


def audit_run(run: Run, *, at: datetime, layers: Iterable[Layer] = Layer) -> None:
    """Have an operator's token send sound evidence of all that audits tell of *run*."""
    items = audited_items(ruleset_for(run.cluster), layers)
    token, _ = issue_token(kind=TokenKind.OPERATOR, clusters=[run.cluster], now=at, created_by=None)
    evidence = msgspec.convert(sound_evidence(items), RunEvidenceV1)
    record_run_evidence(run=run, token=token, evidence=evidence, age_s=0.0, received_at=at)
