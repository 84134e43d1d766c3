"""What the person at the terminal reads first."""

from collections.abc import Callable, Mapping
from typing import Any

from portal.quickstart.agents import EXAMPLE_CLUSTER, EXAMPLE_NODE
from portal.quickstart.portal_client import node_readiness
from readiness_agent.node import hostname

SHOWN_REASONS = 5


def print_summary(notes: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """Address, sign-in, and what the gate says about both nodes."""
    say("")
    say(f"  Portal    {notes['url']}/")
    say(f"  Sign in   {notes['username']}  {notes['password']}")
    say("  Tokens    var/quickstart.json (readable by you only)")
    say("")
    _print_node(notes, str(notes["cluster"]), hostname(), say)
    _print_node(notes, EXAMPLE_CLUSTER, EXAMPLE_NODE, say)
    say("")
    say("Ctrl-C stops everything and keeps the data in var/.")


def _print_node(notes: Mapping[str, Any], cluster: str, node: str, say: Callable[[str], None]) -> None:
    answer = node_readiness(str(notes["url"]), cluster=cluster, hostname=node, token=str(notes["gate_token"]))
    decision = str(answer.get("decision", "no answer")).replace("_", " ")
    reasons = answer.get("reasons", [])
    total = answer.get("reasons_total", len(reasons))
    say(f"  {cluster}/{node}: {decision}" + (f", {total} reasons" if total else ""))
    for reason in reasons[:SHOWN_REASONS]:
        say(f"    {reason.get('verdict', '')}: {reason.get('item', '')} {reason.get('subject', '')}".rstrip())
