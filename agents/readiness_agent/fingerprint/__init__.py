"""Everything that this node is set to, as flat pairs of name and text: read once an hour, sent when it changed.

A setting's name is ``KIND:NAME``. A kind that could not be read is not among ``kinds``: nobody may say that what was
not looked for is absent. A setting that is there and could not be read is None.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from readiness_agent.facts import CouldNotMeasure, Findings, ProbeResult
from readiness_agent.fingerprint.configured import read_environment, read_limits
from readiness_agent.fingerprint.hardware import read_dmi, read_driver, read_gpus, read_nics
from readiness_agent.fingerprint.kernel import read_cmdline, read_kernel, read_modules, read_sysctls
from readiness_agent.fingerprint.leaving import is_left_out, is_secret
from readiness_agent.fingerprint.software import read_mounts, read_packages
from readiness_agent.redaction import URL_LOGIN
from readiness_agent.source import Probe, ProbeContext, Source

Settings = Dict[str, Optional[str]]

READERS: Tuple[Tuple[str, Callable[[Source], Mapping[str, Optional[str]]]], ...] = (
    ("sysctl", read_sysctls),
    ("cmdline", read_cmdline),
    ("kernel", read_kernel),
    ("module", read_modules),
    ("driver", read_driver),
    ("nic", read_nics),
    ("gpu", read_gpus),
    ("env", read_environment),
    ("limit", read_limits),
    ("mount", read_mounts),
    ("dmi", read_dmi),
    ("package", read_packages),
)

MOST_SETTINGS = 5_000
"""More are cut off by the alphabet: a node with thousands of interfaces must not cost the portal more than that."""

LONGEST_NAME = 200
LONGEST_VALUE = 500

REMOVED = "removed"

_CONTROLS = re.compile(r"[\x00-\x1f\x7f\s]+")


class Fingerprint(NamedTuple):
    """What was read."""

    kinds: Tuple[str, ...]
    settings: Settings

    @property
    def sha256(self) -> str:
        """The digest that the portal works out, too: of sorted JSON without spaces."""
        document = {"kinds": sorted(self.kinds), "settings": self.settings}
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def read_fingerprint(source: Source, kinds: Sequence[str] = ()) -> Fingerprint:
    """Read all *kinds* (none: every kind there is) that can be read."""
    read: List[str] = []
    settings: Settings = {}
    for kind, reader in READERS:
        if kinds and kind not in kinds:
            continue
        try:
            found = reader(source)
        except CouldNotMeasure:
            continue  # said by leaving the kind out
        read.append(kind)
        settings.update((f"{kind}:{name}", value) for name, value in found.items())
    return Fingerprint(tuple(read), _bounded(settings))


def clean(name: str, value: Optional[str]) -> Optional[str]:
    """The text of one setting as it is sent: in one line, without secrets, and its digest where it is long."""
    if value is None:
        return None
    if is_secret(name):
        return REMOVED
    text = URL_LOGIN.sub(REMOVED, _CONTROLS.sub(" ", value).strip())
    text = text.encode("utf-8", "replace").decode()
    if len(text) > LONGEST_VALUE:
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    return text


def decoded(outcome: ProbeResult) -> Optional[Fingerprint]:
    """The fingerprint that the probe handed back; None when it did not come to an end."""
    if not outcome.evidence:
        return None
    document: Dict[str, Any] = json.loads(outcome.evidence[0].text)
    return Fingerprint(tuple(document["kinds"]), document["settings"])


def _bounded(settings: Settings) -> Settings:
    kept = sorted(name for name in settings if len(name) <= LONGEST_NAME and not is_left_out(name))
    return {name: clean(name, settings[name]) for name in kept[:MOST_SETTINGS]}


def _measure(source: Source, _: ProbeContext) -> ProbeResult:
    findings = Findings(source.now_boottime())
    found = read_fingerprint(source)
    findings.evidence(json.dumps({"kinds": found.kinds, "settings": found.settings}))
    return findings.result()


FINGERPRINT = Probe("fingerprint", (), "fingerprint", _measure)
"""Belongs to no item and to no report: it runs by itself, in a process of its own as every probe does."""
