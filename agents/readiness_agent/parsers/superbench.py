"""``results-summary.jsonl`` of SuperBench: one object a node, with one number for each metric.

A metric is ``BENCHMARK[:NAME]/METRIC[:RANK]``. ``return_code`` other than 0 is a benchmark that did not work.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Tuple

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.documents import load_document, text_of
from readiness_agent.parsers.saved import Reading, Saved
from readiness_agent.values import finite

_METRIC = re.compile(
    r"(?P<benchmark>[a-z0-9-]{1,48})(?::(?P<label>[^/]{1,64}))?/(?P<metric>[^:/]{1,96})(?::(?P<rank>[0-9]{1,4}))?"
)
RETURN_CODE = "return_code"


class Metric(NamedTuple):
    """One number; *rank* is -1 where there is none."""

    benchmark: str
    name: str
    rank: int
    value: float


class NodeResults(NamedTuple):
    """One node's line; *unread* are metrics without a number."""

    node: str
    metrics: Tuple[Metric, ...]
    unread: Tuple[str, ...]


def superbench_results(text: str) -> Tuple[NodeResults, ...]:
    """The nodes of the summary.

    Raises:
        Unreadable: a line is no JSON object with a node and metrics.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    found = [_node(line) for line in lines]
    if not found:
        raise Unreadable("this text is empty")
    return tuple(found)


def _node(line: str) -> NodeResults:
    document = load_document(line)
    node = text_of(document, "node")
    if node is None:
        raise Unreadable("a line of the summary names no node")
    metrics, unread = _metrics(document)
    if not metrics:
        raise Unreadable(f"{node[:64]} has no metric of SuperBench")
    return NodeResults(node[:253], tuple(metrics), tuple(unread))


def _metrics(document: Dict[str, Any]) -> Tuple[List[Metric], List[str]]:
    metrics: List[Metric] = []
    unread: List[str] = []
    for key, value in document.items():
        named, number = _METRIC.fullmatch(key), finite(value)
        if named and number is not None and abs(number) < 1e18:
            metrics.append(Metric(named["benchmark"], named["metric"], int(named["rank"] or -1), number))
        elif key != "node":
            unread.append(key[:160])
    return metrics, unread


def read_superbench(text: str) -> Saved:
    """Every metric of every node, and a sentence for each benchmark that did not work. Never raises."""
    reading = Reading()
    try:
        nodes = superbench_results(text)
    except Unreadable as error:
        reading.problem(error.detail)
        return reading.result()
    for node in nodes:
        for metric in node.metrics:
            rank = f":{metric.rank}" if metric.rank >= 0 else ""
            reading.fact(f"{metric.benchmark}/{metric.name}{rank}", metric.value, "number", node.node)
            if metric.name == RETURN_CODE and metric.value:
                reading.problem(f"{node.node}: {metric.benchmark} ended with {metric.value:.0f}")
        for name in node.unread:
            reading.problem(f"{node.node}: {name} has no number")
    return reading.result()
