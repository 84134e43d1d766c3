"""What Slurm may do about a node: hold or drain it for a proven fault of its hardware, and for nothing else."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from readiness_agent.command import run_command
from readiness_agent.decision import Decision
from readiness_agent.facts import CouldNotMeasure
from readiness_agent.lines import plain

SCONTROL_SECONDS = 10.0
REASON_PREFIX = "countersign:"
LONGEST_REASON = 200
SUSPECT_CHECK = "suspect_check"


def hardware_faults(decision: Decision, hostname: str) -> List[Dict[str, Any]]:
    """Reasons of a fresh answer that are a *fail* of a hardware item held by this very node.

    Unknown, stale, unsigned and other owners' faults are none: they hold a job elsewhere, or nowhere. Nor is one under
    an open circuit breaker: what failed on half of a fleet at once would take all of it down.
    """
    return [
        reason
        for reason in decision.reasons
        if decision.is_fresh
        and reason.get("verdict") == "fail"
        and reason.get("code") != SUSPECT_CHECK
        and reason.get("owner") == "hardware"
        and str(reason.get("node", "")).lower() == hostname
    ]


def may_drain(decision: Decision) -> bool:
    """Whether the portal itself allows draining: no breaker open, its sweep young, the fault older than 120 s."""
    return decision.is_fresh and decision.answer.get("drain_allowed") is True


def drain(hostname: str, fault: Dict[str, Any]) -> str:
    """Drain this node unless somebody already has; what was done, or why not, in one line."""
    item, subject = str(fault.get("item", "")), str(fault.get("subject", ""))
    reason = plain(f"{REASON_PREFIX} {item} {subject}".strip())[:LONGEST_REASON]
    try:
        state = _state(hostname)
        if state is None:
            return f"not drained: scontrol does not know node {hostname}"
        if "DRAIN" in state:
            return f"already drained; its reason is left as it is ({reason})"
        argv = ["scontrol", "update", f"nodename={hostname}", "state=drain", f"reason={reason}"]
        result = run_command(argv, SCONTROL_SECONDS)
    except CouldNotMeasure as error:
        return f"not drained: {error.detail}"
    if result.exit_code != 0:
        return f"not drained: scontrol ended with {result.exit_code}: {result.stderr.strip()[:200]}"
    return f"drained: {reason}"


def _state(hostname: str) -> Optional[str]:
    """``IDLE+DRAIN`` and the like; None when Slurm does not know the node."""
    listing = run_command(["scontrol", "--oneliner", "show", "node", hostname], SCONTROL_SECONDS)
    fields = [field for field in listing.stdout.split() if field.startswith("State=")]
    return fields[0][len("State=") :].upper() if listing.exit_code == 0 and fields else None
