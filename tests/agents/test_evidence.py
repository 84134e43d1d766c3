"""The raw text beside facts, as it is sent: cut, hashed, and without what no database can keep."""

from __future__ import annotations

import hashlib

from readiness_agent.facts import Evidence, ProbeResult
from readiness_agent.report import all_evidence
from readiness_agent.runner import Outcome
from tests.agents.conftest import uptime_probe


def sent(text: str) -> dict[str, object]:
    outcome = Outcome(uptime_probe("p", "one"), ProbeResult((), (), (Evidence(text, ("one",)),)), 0.1, (), ())
    (entry,) = all_evidence(outcome)
    return entry


def test_a_text_is_cut_at_4_kib_and_its_digest_is_that_of_what_is_left() -> None:
    entry = sent("ü" * 5000)

    assert (len(str(entry["text"]).encode()), entry["truncated"]) == (4096, True)
    assert entry["sha256"] == hashlib.sha256(("ü" * 2048).encode()).hexdigest()


def test_a_nul_is_replaced_before_the_digest_is_made_because_the_portal_keeps_none() -> None:
    entry = sent("a\0b")

    assert entry["text"] == "a\ufffdb"
    assert entry["sha256"] == hashlib.sha256("a\ufffdb".encode()).hexdigest()
