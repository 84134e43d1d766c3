"""The environment that jobs train in: its packages, where its training libraries came from, its NCCL, its image."""

from __future__ import annotations

import os
from typing import List, Optional

from readiness_agent.facts import ERROR, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.listing import listed
from readiness_agent.parsers.distributions import (
    Listing,
    digest_of,
    is_pinned,
    origin_of,
    parse_listing,
    trainers_in,
)
from readiness_agent.probes import image, nccl
from readiness_agent.probes.as_user import as_owner
from readiness_agent.source import Probe, ProbeContext, Source, not_configured

PINNED, UNIFORM = "trainer-lib-pinned", "python-env-uniform"
OF_PYTHON = (PINNED, UNIFORM)
ITEMS = (*OF_PYTHON, *nccl.ITEMS, image.ITEM)

LISTING_DEADLINE = 6.0

LIST_DISTRIBUTIONS = """
import importlib.metadata, json, os, sys, sysconfig
prefixes = [os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))]
if os.path.exists(os.path.join(prefixes[0], "pyvenv.cfg")):
    with open(os.path.join(prefixes[0], "pyvenv.cfg"), encoding="utf-8", errors="replace") as settings:
        if "include-system-site-packages=true" in settings.read().lower().replace(" ", ""):
            prefixes.append(sys.base_prefix)
else:
    prefixes.append(sys.base_prefix)
folders = {}
for prefix in prefixes:
    for scheme in sysconfig.get_scheme_names():
        if not scheme.startswith("nt") and not scheme.endswith(("user", "home")):
            for key in ("purelib", "platlib"):
                folders[sysconfig.get_path(key, scheme, {"base": prefix, "platbase": prefix})] = None
found = []
for one in importlib.metadata.distributions(path=[each for each in folders if os.path.isdir(each)]):
    name = one.metadata["Name"]
    url = one.read_text("direct_url.json")
    if name:
        found.append({"name": name, "version": one.version, "direct_url": json.loads(url) if url else None,
                      "requires": list(one.requires or []) if name.lower() == "torch" else []})
print(json.dumps({"python": sys.version.split()[0], "distributions": found}))
"""
"""Reads what installers wrote about packages. Run with ``-I -S``, so that no file of the environment is executed."""


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """All of it; what cannot be had costs its own items only."""
    findings = Findings(source.now_boottime())
    present: Optional[str] = None
    with findings.attempt(image.ITEM):
        present = image.measure_image(findings, source, context)
    listing: Optional[Listing] = None
    refused: Optional[CouldNotMeasure] = None
    try:
        listing = _ask(source, context)
    except CouldNotMeasure as error:
        refused = error
    with findings.attempt(*OF_PYTHON):
        _packages(findings, listing, present, refused)
    nccl.measure_nccl(findings, source, context, listing, refused)
    return findings.result()


def interpreter(source: Source, context: ProbeContext) -> List[str]:
    """How to start the configured interpreter as the one who owns it.

    Raises:
        CouldNotMeasure: there is none, or it may not be started so.
    """
    python = context.training_python
    if python is None:
        raise not_configured(context, "training_python")
    if not os.path.isabs(python):
        raise CouldNotMeasure(ERROR, f"training_python of agent.json must be a whole path, not {python}")
    return [*as_owner(source, os.path.dirname(os.path.dirname(python)), context.job_user), python]


def _ask(source: Source, context: ProbeContext) -> Listing:
    argv = [*interpreter(source, context), "-I", "-S", "-c", LIST_DISTRIBUTIONS]
    result = source.run(argv, LISTING_DEADLINE)
    if result.exit_code != 0:
        last = result.stderr.strip().rpartition("\n")[2][:200]
        raise CouldNotMeasure(ERROR, f"{context.training_python} ended with {result.exit_code}: {last}")
    return parse_listing(result.stdout)


def _packages(
    findings: Findings, listing: Optional[Listing], present: Optional[str], refused: Optional[CouldNotMeasure]
) -> None:
    """By the interpreter where there is one; else the image holds the packages, and its digest names them."""
    if listing is None:
        if present is None:
            raise refused or CouldNotMeasure(ERROR, "the training environment was not listed")
        findings.fact(PINNED, "unpinned", 0, "count")
        findings.fact(PINNED, "origins", f"image {present}", "text")
        findings.fact(UNIFORM, "environment", f"image {present}", "text")
        return
    trainers = trainers_in(listing)
    findings.fact(PINNED, "unpinned", sum(1 for one in trainers if not is_pinned(one)), "count")
    findings.fact(PINNED, "origins", listed(f"{one.name} {one.version} {origin_of(one)}" for one in trainers), "text")
    findings.fact(UNIFORM, "environment", digest_of(listing), "text")
    findings.evidence(_shown(listing), *OF_PYTHON)


def _shown(listing: Listing) -> str:
    """Names and versions; origins only of what drives the training, since an address may hold a secret."""
    lines = [f"python {listing.python}"]
    for one in listing.distributions:
        origin = f" {origin_of(one)}" if one in trainers_in(listing) else ""
        lines.append(f"{one.name}=={one.version}{origin}")
    return "\n".join(lines)


TRAINING = Probe("training", ITEMS, "daily", measure, deadline=15.0)
