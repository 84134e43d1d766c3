"""How verdicts, facts and problems look on a terminal: one line each, nothing a tool printed can move the cursor."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from readiness_agent.facts import Fact, Problem

ORDER = ("fail", "unknown", "stale", "waived", "warn", "pass", "na")
"""Worst first, as the portal rolls verdicts up."""


def plain(text: object) -> str:
    """*text* with control characters made visible."""
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in str(text))


def verdict_line(verdict: Dict[str, Any]) -> str:
    """``FAIL     sysctl-somaxconn  criterion: live 4096 < 65535``."""
    name = str(verdict.get("item", "?")) + (f" {verdict['subject']}" if verdict.get("subject") else "")
    why = ": ".join(str(verdict[key]) for key in ("reason", "detail") if verdict.get(key))
    return plain(f"{str(verdict.get('verdict', 'unknown')).upper():<8} {name}  {why}").rstrip()


def verdict_lines(verdicts: Sequence[Dict[str, Any]]) -> List[str]:
    """One line each, worst first, then by item."""
    return [verdict_line(one) for one in sorted(verdicts, key=_rank)]


def fact_line(fact: Fact) -> str:
    """``gpu-pcie-width gpu0  width = 16 lanes``."""
    return plain(f"{fact.item} {fact.subject}".rstrip() + f"  {fact.name} = {fact.value} {fact.unit}")


def problem_line(problem: Problem) -> str:
    """``gpu-ecc *  could not be measured (hung): no answer after 8 s``."""
    return plain(f"{problem.item} {problem.subject}".rstrip() + f"  not measured ({problem.kind}): {problem.detail}")


def _rank(verdict: Dict[str, Any]) -> Tuple[int, str, str]:
    name = str(verdict.get("verdict", ""))
    place = ORDER.index(name) if name in ORDER else 1
    return place, str(verdict.get("item", "")), str(verdict.get("subject", ""))
