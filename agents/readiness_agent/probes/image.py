"""The container image that jobs run in: whether it lies on this node, and its digest."""

from __future__ import annotations

import json
import re
from typing import Any, List, Optional, Tuple

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, Unreadable
from readiness_agent.source import CommandResult, ProbeContext, Source, not_configured

ITEM = "image-uniform"
ENGINES: Tuple[Tuple[str, ...], ...] = (
    ("docker", "image", "inspect"),
    ("crictl", "inspecti", "-o", "json"),
    ("podman", "image", "inspect"),
)
"""Who may hold images, in the order in which they are asked."""

DEADLINE = 3.0

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}")
_ABSENT = re.compile(r"no such image|image not known|not found", re.IGNORECASE)


def measure_image(findings: Findings, source: Source, context: ProbeContext) -> Optional[str]:
    """Facts about the configured image; its digest when it lies on this node.

    Raises:
        CouldNotMeasure: none is configured, or no container engine answers.
    """
    name = context.training_image
    if name is None:
        raise not_configured(context, "training_image")
    if not _IMAGE.fullmatch(name):
        raise CouldNotMeasure(ERROR, f"training_image of agent.json is no name of an image: {name[:80]}")
    result = _ask(source, name)
    present = result.exit_code == 0
    findings.fact(ITEM, "image", name, "text")
    findings.fact(ITEM, "present", present, "bool")
    if not present:
        return None
    digest = digest_of_image(result.stdout, name)
    findings.fact(ITEM, "digest", digest, "text")
    return digest


def _ask(source: Source, name: str) -> CommandResult:
    """The answer of the engine that has the image; else of one that says that it has not."""
    absent: List[CommandResult] = []
    refused: List[CouldNotMeasure] = []
    for engine in ENGINES:
        try:
            result = source.run((*engine, name), DEADLINE)
        except CouldNotMeasure as error:
            refused.append(error)
            continue
        if result.exit_code == 0:
            return result
        if _ABSENT.search(result.stderr):
            absent.append(result)
        else:
            said = result.stderr.strip().rpartition("\n")[2][:160]
            refused.append(CouldNotMeasure(ERROR, f"{engine[0]} ended with {result.exit_code}: {said}"))
    if absent:
        return absent[0]
    told = [error for error in refused if error.kind != MISSING]
    raise told[0] if told else CouldNotMeasure(MISSING, "neither docker nor crictl nor podman is on this node")


def digest_of_image(text: str, name: str) -> str:
    """The digest that the registry knows the image by; of one that no registry has, that of its configuration.

    Raises:
        Unreadable: the answer names neither.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("the container engine's answer is not JSON") from None
    held = answer[0] if isinstance(answer, list) and answer else answer
    if isinstance(held, dict) and isinstance(held.get("status"), dict):
        held = held["status"]
    digests = _digests(held, "RepoDigests") or _digests(held, "repoDigests")
    asked = name.partition("@")[2]
    if asked in [one.partition("@")[2] for one in digests]:
        return asked
    for one in sorted(digests, key=lambda digest: not _is_of(digest, name)):
        found = _DIGEST.search(one)
        if found:
            return found[0]
    own = _DIGEST.search(str(held.get("Id") or held.get("id") or "")) if isinstance(held, dict) else None
    if own:
        return own[0]
    raise Unreadable("the container engine names no digest of the image")


def _digests(held: Any, key: str) -> List[str]:
    told = held.get(key) if isinstance(held, dict) else None
    return [one for one in told if isinstance(one, str)] if isinstance(told, list) else []


def _is_of(digest: str, name: str) -> bool:
    """Whether a ``repository@sha256:…`` is of the repository that *name* tells."""
    repository = name.partition("@")[0]
    tagged = repository.rpartition("/")[2]
    repository = repository.rpartition(":")[0] if ":" in tagged else repository
    return digest.partition("@")[0].endswith(repository)
