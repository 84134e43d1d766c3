"""``python -m tests.item_coverage``: write docs/coverage.md: of each item what measures it, and what holds that.

Nothing is kept by hand but `verified.toml`: what probes, audits and the portal cover is asked of them.
"""

import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from checks.adapters.tools import TOOLS
from checks.domain.catalogue import load_catalogue
from checks.domain.items import Item
from checks.domain.shared_items import FROM_NODES
from checks.domain.verdicts import Layer, Source
from readiness_agent.audits import config, dataset, log, tokenizer
from readiness_agent.audits.configs import policies
from readiness_agent.offline.probes import OFFLINE_PROBES
from readiness_agent.probes import PROBES

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "coverage.md"
VERIFIED = ROOT / "tests" / "verified.toml"

HEAD = (
    "# What measures each item\n\n"
    "Written by `python -m tests.item_coverage`; `make test` fails where it is not what the code says. *Measured by*: "
    "a probe of the agent and when it runs, an audit of the run's files, the portal from what nodes said, or a person "
    "who states it. *In shadow*: judged where it is measured, blocks nothing yet. *Held by*: tests that read what "
    "tools and files really say. *Last seen*: when it was measured for real and held against what the machine itself "
    "says (the letters are explained below). Nobody here has a machine of every kind: where that is empty, the item "
    "rests on saved outputs, captures and stand-ins.\n\n"
)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The whole page, one table a layer."""
    catalogue = load_catalogue(ROOT / "checks" / "catalog")
    return HEAD + "\n".join([*(_table(layer, catalogue.items) for layer in Layer), _legend()])


def _legend() -> str:
    told = tomllib.loads(VERIFIED.read_text(encoding="utf-8"))
    lines = [f"- **{letter}**: {told['hardware'][one['on']]}: {one['how']}" for letter, one in _lettered(told)]
    return "\n".join(["## Where it was seen", "", *lines, ""])


def _lettered(told: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return zip(ascii_lowercase, told["seen"], strict=False)


def _table(layer: Layer, items: Mapping[str, Item]) -> str:
    rows = [_row(item) for item in items.values() if item.layer is layer]
    head = [f"## {layer.value.capitalize()}", "", "| item | measured by | held by | last seen |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def _row(item: Item) -> str:
    ways = [*ways_of(item)] or ["not yet"]
    told = " · ".join(ways) + (", *in shadow*" if item.shadow else "")
    held = ", ".join(f"[{name}](../{path})" for name, path in holders().get(item.key, ()))
    return f"| `{item.key}` | {told} | {held} | {'; '.join(seen().get(item.key, ()))} |"


def ways_of(item: Item) -> Iterator[str]:
    """Everything that tells facts of *item*."""
    if item.source is Source.ATTESTED:
        yield "a person states it"
    yield from (f"probe `{one.name}`, {one.cadence}" for one in PROBES if item.key in one.items)
    yield from (f"probe `{one.name}`, offline" for one in OFFLINE_PROBES if item.key in one.items)
    yield from (f"`audit {audit}`" for audit, items in audits().items() if item.key in items)
    yield from (f"output of `{tool}`" for tool, reader in TOOLS.items() if f'"{item.key}"' in _source_of(reader))
    if item.key in FROM_NODES:
        yield "the portal, from all nodes"
    if item.key == "ops-maintenance-window":
        yield "the portal, from its windows"


def _source_of(reader: Callable[..., object]) -> str:
    return inspect.getsource(sys.modules[reader.__module__])


def audits() -> Mapping[str, frozenset[str]]:
    """Items by the audit that can tell of them."""
    return {
        "config": frozenset({*config.ALWAYS, policies.FIT_ITEM, policies.SPOT_ITEM}),
        "log": frozenset({log.NORM, log.POLICY, log.ATTENTION, log.TIMEOUT}),
        "dataset": frozenset(dataset.ITEMS),
        "tokenizer": frozenset({tokenizer.PARITY, tokenizer.SPEED}),
    }


@cache
def holders() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Name and path of the tests of the agent and the journeys that speak of each item."""
    found: dict[str, list[tuple[str, str]]] = {}
    for folder in ("tests/agents", "tests/journeys"):
        for path in sorted((ROOT / folder).rglob("test_*.py")):
            for key in sorted(set(re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"', path.read_text(encoding="utf-8")))):
                found.setdefault(key, []).append((path.stem.removeprefix("test_"), str(path.relative_to(ROOT))))
    return {key: tuple(paths[:3]) for key, paths in found.items()}


@cache
def seen() -> Mapping[str, tuple[str, ...]]:
    """Where and when each item was measured for real."""
    told = tomllib.loads(VERIFIED.read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for letter, one in _lettered(told):
        for item in one["items"]:
            found.setdefault(item, []).append(f"{one['at']} **{letter}**")
    return {item: tuple(lines) for item, lines in found.items()}


if __name__ == "__main__":
    main()
