"""``audit config``: how a run is configured, from DeepSpeed's JSON, launch scripts and training code."""

from __future__ import annotations

import argparse
from typing import List

from readiness_agent.audits import AuditResult, Notes
from readiness_agent.audits.configs import dumps, layout, offload, policies, precision, saving, tags, timeouts
from readiness_agent.audits.configs.manifests import audit_manifests
from readiness_agent.audits.configs.setup import Setup
from readiness_agent.audits.configs.sources import MANIFEST, read_sources
from readiness_agent.errors import usage_error
from readiness_agent.facts import UNREADABLE

ALWAYS = (
    precision.ITEM, layout.ITEM, timeouts.ITEM, saving.ITEM, tags.ITEM, offload.ITEM, dumps.ITEM, policies.LOG_ITEM,
)  # fmt: skip
"""What the files of any run can tell of."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing but the paths: files, or folders with them."""


def audit(arguments: argparse.Namespace) -> AuditResult:
    """Look at all files of one run together.

    Raises:
        AgentError: exit 64, a path holds nothing that this audit reads.
    """
    found = read_sources(arguments.paths)
    if not found.sources:
        raise usage_error(
            "no DeepSpeed configuration, launch script, manifest of a job or Python file is there: name the files of "
            "the run"
        )
    setup = Setup(found, arguments.run or "")
    notes = Notes(*_covered(setup))
    for source in found.sources:
        notes.artefact(source.name, source.digest)
    for item in ALWAYS:
        for sentence in setup.damaged():
            notes.problem(item, UNREADABLE, sentence)
    _remarks(setup, notes)
    precision.audit_precision(setup, notes)
    layout.audit_layout(setup, notes)
    timeouts.audit_timeout(setup, notes)
    saving.audit_saving(setup, notes)
    tags.audit_tags(setup, notes)
    offload.audit_offload(setup, notes)
    dumps.audit_dumps(setup, notes)
    policies.audit_logging(setup, notes)
    policies.audit_spot(setup, notes)
    if setup.launches.is_slurm():
        policies.audit_scheduling(setup, notes)
    elif manifests := found.of_kind(MANIFEST):
        audit_manifests(manifests, notes)
    return notes.result()


def _covered(setup: Setup) -> List[str]:
    """What these files can tell of; of scheduling and spot instances only where they speak of them."""
    more = [policies.FIT_ITEM] if setup.launches.is_slurm() or setup.found.of_kind(MANIFEST) else []
    more += [policies.SPOT_ITEM] if policies.says_spot(setup) else []
    return [*ALWAYS, *more]


def _remarks(setup: Setup, notes: Notes) -> None:
    """What is odd about a DeepSpeed configuration as a file, shown with the item that depends on it most."""
    for config in setup.deepspeed:
        for line, sentence in config.held.remarks:
            notes.finding(precision.ITEM, f"{config.source.name}:{line}", sentence)
