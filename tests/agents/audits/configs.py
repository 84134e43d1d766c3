"""How the tests of ``audit config`` ask, and what a sound training shows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from readiness_agent.audits import AuditResult
from readiness_agent.audits.config import audit

SOUND_FACTS = {
    ("amp-config", "precision"): "bf16",
    ("amp-config", "scaler"): "none",
    ("amp-config", "scaler_fits"): True,
    ("amp-config", "apex_used"): False,
    ("parallel-layout", "gpus"): 32,
    ("parallel-layout", "layout_product"): 32,
    ("parallel-layout", "batch_remainder"): 0,
    ("parallel-layout", "tensor_groups_split"): 0,
    ("collective-timeout", "timeout"): 3600.0,
    ("collective-timeout", "flight_recorder"): True,
    ("checkpoint-api", "plain_model_saves"): 0,
    ("checkpoint-api", "partial_rank_calls"): 0,
    ("checkpoint-api", "tag_validation_lenient"): False,
    ("checkpoint-tag", "has_step"): True,
    ("checkpoint-tag", "has_job"): True,
    ("checkpoint-tag", "same_on_ranks"): True,
    ("checkpoint-tag", "collisions"): 0,
    ("zero-offload-compat", "nvme_offload"): False,
    ("ops-error-dump", "handler_registered"): True,
    ("ops-error-dump", "replaces_requeue"): False,
    ("ops-log-policy", "debug_detail"): False,
    ("ops-log-policy", "nccl_log_separate"): True,
    ("scheduler-fit", "time_limit"): 864_000,
    ("scheduler-fit", "reservation_covers"): True,
    ("scheduler-fit", "requeue"): True,
}


def audited(place: Path, *, run: str = "") -> AuditResult:
    return audit(argparse.Namespace(paths=[str(place)], run=run))


def facts(result: AuditResult) -> dict[tuple[str, str], Any]:
    return {(fact.item, fact.name): fact.value for fact in result.facts}


def written(place: Path, **files: str) -> AuditResult:
    """An audit of these files alone; ``_`` in a name stands for the dot before its ending."""
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        (place / f"{stem}.{ending}").write_text(text, encoding="utf-8")
    return audited(place)


def problems(result: AuditResult, item: str) -> list[str]:
    return [problem.detail for problem in result.problems if problem.item == item]
