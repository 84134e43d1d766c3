"""Runs of the tests: what a person would write down about one, and one on a cluster's nodes."""

from datetime import timedelta
from typing import Any

from checks.models import Cluster, Role, Run
from checks.services.run_spec import RunSpec
from checks.services.runs import create_run
from portal.accounts.models import User
from tests.lab import NOON
from tests.people import person

DIGEST = "sha256:" + "ab" * 32


def spec(**changes: Any) -> RunSpec:
    """A 70 B model on two nodes for ten days, from tomorrow noon."""
    columns: dict[str, Any] = {
        "name": "Llama 70 B", "nodes_needed": 2, "world_size": 16, "model_name": "llama-70b",
        "planned_start": NOON + timedelta(days=1), "planned_end": NOON + timedelta(days=11),
        "dataset": "s3://corpus/v3", "parameters": 70_000_000_000,
        "layout": {"tensor": 8, "pipeline": 1, "data": 2},
        "bytes_per_parameter": {"weights": 2, "optimizer": 12},
        "artefacts": ({"name": "train.yaml", "digest": DIGEST},),
    }  # fmt: skip
    return RunSpec(**{**columns, **changes})


def a_run(cluster: Cluster, nodes: str, *, slug: str = "run-7", by: User | None = None, **changes: Any) -> Run:
    """A run on *nodes*, made by a lead of the cluster unless *by* somebody else."""
    maker = by or person(f"maker-of-{slug}", cluster, Role.LEAD)
    return create_run(cluster=cluster, slug=slug, spec=spec(**changes), nodes=nodes, by=maker, now=NOON)
