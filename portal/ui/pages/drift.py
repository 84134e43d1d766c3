"""What differs: rows that a page and a CSV file show alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.urls import reverse

from checks.domain.drift.between import Change, Contrasts, SharedChange
from checks.domain.drift.cohort import CohortDrift
from checks.domain.drift.prints import Value
from checks.domain.drift.spreading import Spread
from checks.models import Cluster
from checks.selectors.nodesets import fold_node_set
from checks.selectors.rules import ruleset_for
from portal.ui.drift_words import kind_word, value_word

#: Rows of a page; the CSV holds all of them.
MOST_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: its usual value (or that of A, or of then), what others have, on which nodes, and its item."""

    name: str
    kind: str
    usual: str
    other: str
    nodes: str
    differ: int
    of: int
    item: str
    href: str
    equals: str

    @property
    def plain(self) -> str:
        """The name without its kind."""
        return self.name.partition(":")[2]


class Items:
    """Which settings a cluster has items for, by name."""

    def __init__(self, cluster: Cluster) -> None:
        rules = ruleset_for(cluster)
        self._cluster = cluster
        self._keys: Mapping[str, str] = {
            name: key for key, item in rules.items.items() if rules.applies(key) and not item.shadow
            for name in item.settings
        } | {name: key for key, name in rules.settings.items()}  # fmt: skip

    def key(self, name: str) -> str:
        """The key of the item that watches the setting *name*; empty where there is none."""
        return self._keys.get(name, "")

    def href(self, name: str) -> str:
        """Where that item is shown."""
        key = self.key(name)
        return reverse("ui:item", args=[self._cluster.slug, key]) if key else ""


def row_of(name: str, usual: Value, other: str, nodes: Iterable[str], *, differ: int, of: int, items: Items) -> Row:
    """One row; a setting without an item can be made one where its usual value is a text."""
    return Row(
        name=name, kind=kind_word(name), usual=value_word(usual), other=other, nodes=fold_node_set(nodes),
        differ=differ, of=of, item=items.key(name), href=items.href(name),
        equals=usual if isinstance(usual, str) and usual and not items.key(name) else "",
    )  # fmt: skip


def cohort_rows(found: CohortDrift, items: Items) -> Iterator[Row]:
    """The odd ones out, the rarest difference first."""
    for odd in found.odd:
        said = ", ".join(value_word(value) for value, _ in odd.nodes)
        hosts = [host for _, nodes in odd.nodes for host in nodes]
        spread = odd.spread
        yield row_of(odd.name, spread.usual, said, hosts, differ=spread.odd, of=spread.known, items=items)


def contrast_rows(found: Contrasts, items: Items) -> Iterator[Row]:
    """What tells A from B, the most suspicious first."""
    for one in found.contrasts:
        said = ", ".join(value_word(value) for value in _most_first(one.b))
        yield row_of(one.name, one.a.usual, said, (), differ=one.differ, of=one.b.known, items=items)


def oddity_rows(found: Iterable[tuple[Spread, Value]], items: Items) -> Iterator[Row]:
    """What one node has otherwise than its cohort."""
    for spread, value in found:
        yield row_of(
            spread.name, spread.usual, value_word(value), (), differ=spread.odd, of=spread.known, items=items
        )  # fmt: skip


def change_rows(found: Iterable[SharedChange], of: int, items: Items) -> Iterator[Row]:
    """What changed on nodes since then."""
    for one in found:
        change: Change = one.change
        yield row_of(
            change.name, change.before, value_word(change.after), one.nodes, differ=len(one.nodes), of=of, items=items
        )


def filtered(rows: Iterable[Row], text: str) -> list[Row]:
    """Rows that hold *text* in name, kind, value or nodes."""
    wanted = text.strip().lower()
    return [row for row in rows if wanted in f"{row.name} {row.kind} {row.usual} {row.other} {row.nodes}".lower()]


def csv_rows(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """The same rows for a file."""
    for row in rows:
        yield row.name, row.usual, row.other, str(row.differ), str(row.of), row.nodes, row.item


def _most_first(spread: Spread) -> list[Value]:
    return sorted(spread.counts, key=lambda value: -spread.counts[value])
