"""Items on nodes: which verdicts each node shows for each item, in one pass over the rows.

256 nodes have 40,000 rows. Grouping them by item and node means to hash every item's name, and to sort thousands of
groups; so each node's rows are folded into one string of bits instead (item by item within each rank), and the bits are
told apart here. Nodes are much alike, so there are few strings to read. It is three times as fast. For more nodes
than one can look at one by one, see ``pages_crowd``.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from uuid import UUID

from django.db import connection
from django.db.models import Case, F, IntegerField, QuerySet, Value, When

from checks.domain.verdicts import ROLL_UP_ORDER, Verdict
from checks.models import Node
from checks.selectors.pages_verdicts import WAITS, node_ranks

# What is not proved yet and stops no health answer weighs least of all.
UNPROVED_RANK = len(ROLL_UP_ORDER)
RANKS = UNPROVED_RANK + 1


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One item over all columns: which columns show which verdict, and how many nodes that is in each."""

    item: str
    # verdict -> column key -> nodes of that column with it
    nodes: Mapping[Verdict, Mapping[str, int]]
    # Nodes on which it is not proved yet, where that stops no health answer: unknown, but no news.
    unproved: Mapping[str, int]


@dataclass(frozen=True)
class NodeVerdicts:
    """The verdicts of every (item, node): for each rank one bit an item, the first item's in front."""

    items: tuple[str, ...]
    bits: Mapping[UUID, str]

    def rows(self, columns: Mapping[UUID, str]) -> tuple[MatrixRow, ...]:
        """Nodes counted by their column, each with the worst verdict of its subjects."""
        alike = Counter((columns[node], bits) for node, bits in self.bits.items() if node in columns)
        found: dict[str, dict[int, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for (column, bits), nodes in sorted(alike.items()):
            for rank, item in self._worst[bits]:
                held = found[item][rank]
                held[column] = held.get(column, 0) + nodes
        return tuple(_row(item, found[item]) for item in self.items if item in found)

    def counts(self, items: Mapping[Verdict, Sequence[str]]) -> dict[UUID, dict[Verdict, int]]:
        """For each node how many items show a verdict on any subject, of *items* as listed for that verdict."""
        masks = {verdict: self._mask(frozenset(keys)) for verdict, keys in items.items()}
        alike = {bits: self._counted(bits, masks) for bits in set(self.bits.values())}
        return {node: dict(alike[bits]) for node, bits in self.bits.items() if alike[bits]}

    @cached_property
    def _worst(self) -> dict[str, tuple[tuple[int, str], ...]]:
        return {bits: tuple(self._worst_of(bits)) for bits in set(self.bits.values())}

    def _worst_of(self, bits: str) -> Iterator[tuple[int, str]]:
        """(rank, item) of each item that has a row, with the worst of its subjects."""
        seen = 0
        for rank in range(RANKS):
            here = self._at(bits, rank)
            yield from ((rank, item) for item in self._named(here & ~seen))
            seen |= here

    def _counted(self, bits: str, masks: Mapping[Verdict, int]) -> dict[Verdict, int]:
        counts = {
            verdict: (self._at(bits, ROLL_UP_ORDER.index(verdict)) & mask).bit_count()
            for verdict, mask in masks.items()
        }
        return {verdict: number for verdict, number in counts.items() if number}

    def _at(self, bits: str, rank: int) -> int:
        width = len(self.items)
        return int(bits[rank * width : (rank + 1) * width], 2)

    def _named(self, bits: int) -> Iterator[str]:
        return (item for place, item in enumerate(reversed(self.items)) if bits >> place & 1)

    def _mask(self, items: frozenset[str]) -> int:
        return sum(1 << place for place, item in enumerate(reversed(self.items)) if item in items)


def read_node_verdicts(nodes: QuerySet[Node], items: Sequence[str], *, now: datetime) -> NodeVerdicts:
    """The verdicts of *items* over *nodes*: one statement."""
    if not items:
        return NodeVerdicts((), {})
    ranked = node_ranks(nodes.order_by(), now=now).annotate(quiet=_quiet_rank())
    rows, values = ranked.values("item", "node_id", "quiet").query.sql_with_params()
    statement = f"""
        SELECT s.node_id, bit_or(i.mask >> (s.quiet * %s))::text
        FROM ({rows}) s JOIN (
            SELECT item, rpad('1', %s, '0')::varbit >> (place::int - 1) AS mask
            FROM unnest(%s::text[]) WITH ORDINALITY AS u(item, place)
        ) i ON i.item = s.item
        GROUP BY 1
    """  # noqa: S608  (the inner statement carries its values)
    width = len(items)
    with connection.cursor() as cursor:
        cursor.execute(statement, (width, *values, width * RANKS, list(items)))
        return NodeVerdicts(tuple(items), dict(cursor.fetchall()))


def _quiet_rank() -> Case:
    return Case(When(WAITS, then=Value(UNPROVED_RANK)), default=F("rank"), output_field=IntegerField())


def _row(item: str, by_rank: Mapping[int, Mapping[str, int]]) -> MatrixRow:
    verdicts = {ROLL_UP_ORDER[rank]: nodes for rank, nodes in sorted(by_rank.items()) if rank != UNPROVED_RANK}
    return MatrixRow(item, verdicts, by_rank.get(UNPROVED_RANK, {}))
