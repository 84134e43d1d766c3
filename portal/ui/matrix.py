"""Items on nodes as a heat map: runs of passes are one rectangle, so its size follows what deviates."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from checks.domain.items import Item
from checks.domain.verdicts import ROLL_UP_ORDER, Layer, Verdict
from checks.selectors.pages_cluster import MatrixRow
from portal.ui import words

CELL = 15
# A column that stands for many nodes also holds their number.
WIDE_CELL = 45
GROUP_GAP = 9
# Wider than a page: the matrix scrolls under its sticky names.
PAGE_WIDTH = 1030
LEGEND = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.STALE, Verdict.WAIVED, Verdict.WARN, Verdict.NA)


@dataclass(frozen=True, slots=True)
class Column:
    """One node, or one switch with all its nodes."""

    key: str
    place: str
    href: str
    nodes: int = 1
    off: bool = False
    # It stands for a place: its cells hold a number.
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A column's name above the map, where there is room or reason for it."""

    title: str
    short: str
    href: str
    middle: float
    off: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring columns of one place."""

    label: str
    x: int


@dataclass(frozen=True, slots=True)
class Count:
    """How many nodes show one verdict."""

    verdict: str
    count: int


@dataclass(frozen=True, slots=True)
class Line:
    """One item: its name, its shapes, its counts."""

    item: str
    title: str
    href: str
    off: bool
    shadow: bool
    label: str
    shapes: SafeString
    counts: tuple[Count, ...]


@dataclass(frozen=True, slots=True)
class LayerLines:
    """The items of one layer."""

    key: str
    rows: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A heat map ready to be written down."""

    title: str | Promise
    hint: str | Promise
    width: int
    groups: tuple[Group, ...]
    marked_columns: tuple[Mark, ...]
    layers: tuple[LayerLines, ...]
    legend: tuple[Verdict, ...] = LEGEND

    @property
    def scrolls(self) -> bool:
        """Whether it is wider than the page."""
        return self.width > PAGE_WIDTH


@dataclass(frozen=True, slots=True)
class Links:
    """Where shapes and names lead: an item, and an item at one column."""

    item: Callable[[str], str]
    cell: Callable[[str, str], str]


class Grid:
    """Where each column lies."""

    def __init__(self, columns: Sequence[Column], cell: int) -> None:
        self.columns = columns
        self.cell = cell
        self.at: dict[str, int] = {}
        self.groups: list[Group] = []
        self.end = 0
        for place, members in groupby(columns, key=lambda column: column.place):
            self._add(place, list(members))

    def _add(self, place: str, members: Sequence[Column]) -> None:
        start = self.end + GROUP_GAP if self.end else 0
        self.groups.append(Group(place, start))
        for number, column in enumerate(members):
            self.at[column.key] = start + number * self.cell
        self.end = start + len(members) * self.cell

    def runs(self, keys: Iterable[str]) -> list[tuple[int, int]]:
        """(x, width) of each unbroken run of columns among *keys*."""
        runs: list[tuple[int, int]] = []
        for x in sorted(self.at[key] for key in keys if key in self.at):
            if runs and sum(runs[-1]) == x:
                runs[-1] = (runs[-1][0], runs[-1][1] + self.cell)
            else:
                runs.append((x, self.cell))
        return runs


def draw(
    *,
    title: str | Promise,
    hint: str | Promise,
    columns: Sequence[Column],
    rows: Sequence[MatrixRow],
    items: Mapping[str, Item],
    links: Links,
    language: str,
) -> Matrix:
    """The heat map of *rows* over *columns*, layer by layer in the catalogue's order."""
    grid = Grid(columns, WIDE_CELL if any(column.counted for column in columns) else CELL)
    found = {row.item: row for row in rows}
    layers = []
    for layer in Layer:
        keys = [key for key, item in items.items() if item.layer is layer and key in found]
        lines = tuple(_line(grid, found[key], items[key], links, language) for key in keys)
        if lines:
            layers.append(LayerLines(layer.value, lines))
    return Matrix(title, hint, grid.end, tuple(grid.groups), tuple(_marks(grid)), tuple(layers))


def _marks(grid: Grid) -> Iterable[Mark]:
    """Each wide column; of narrow ones those that are off, and the first of a group where it does not touch them."""
    taken: list[float] = []
    starts = {group.x for group in grid.groups}
    for column in sorted(grid.columns, key=lambda column: not column.off):
        x = grid.at[column.key]
        middle = x + grid.cell / 2
        wanted = column.off or x in starts or grid.cell > CELL
        if not wanted or any(abs(middle - other) < 2 * CELL for other in taken):
            continue
        taken.append(middle)
        short = _short_place(column.key) if grid.cell > CELL else _short(column.key)
        title = f"{column.key} ({column.nodes})" if column.counted else column.key
        yield Mark(title, short, column.href, middle, column.off)


def _short(hostname: str) -> str:
    digits = "".join(character if character.isdigit() else " " for character in hostname.split(".")[0]).split()
    return digits[-1][-3:] if digits else hostname[:3]


def _short_place(place: str) -> str:
    return place if len(place) <= 7 else "…" + place[-6:]


def _line(grid: Grid, row: MatrixRow, item: Item, links: Links, language: str) -> Line:
    counts = tuple(
        Count(verdict.value, sum(row.nodes[verdict].values()))
        for verdict in ROLL_UP_ORDER
        if verdict in row.nodes and verdict is not Verdict.PASS
    )
    passes = sum(row.nodes.get(Verdict.PASS, {}).values())
    said = [*counts, Count("pass", passes)] if passes else counts
    return Line(
        item=row.item,
        title=item.texts(language).title,
        href=links.item(row.item),
        off=Verdict.FAIL in row.nodes and not item.shadow,
        shadow=item.shadow,
        label=f"{row.item}: " + ", ".join(f"{each.count} {words.VERDICTS[each.verdict]}" for each in said),
        shapes=_shapes(grid, row, links),
        counts=counts,
    )


def _shapes(grid: Grid, row: MatrixRow, links: Links) -> SafeString:
    worst = _worst(row)
    fields = grid.runs(key for key, verdict in worst.items() if verdict is Verdict.PASS)
    html = [_field(x, width, "pass" if grid.cell == CELL else "pass-wide") for x, width in fields]
    deviating = sorted(
        (grid.at[key], key) for key, verdict in worst.items() if verdict is not Verdict.PASS and key in grid.at
    )
    html += [_cell(grid, row, x, key, worst[key], links) for x, key in deviating]
    return mark_safe("".join(html))  # noqa: S308  (every piece is made by format_html)


def _field(x: int, width: int, kind: str) -> SafeString:
    """Passes: a pattern of squares, moved so that its squares sit in the columns."""
    return format_html('<rect class="field-{}" width="{}" height="20" transform="translate({})"/>', kind, width, x)


def _worst(row: MatrixRow) -> dict[str, Verdict]:
    worst: dict[str, Verdict] = {}
    for verdict in ROLL_UP_ORDER:
        for key in row.nodes.get(verdict, {}):
            worst.setdefault(key, verdict)
    return worst


def _cell(grid: Grid, row: MatrixRow, x: int, key: str, verdict: Verdict, links: Links) -> SafeString:
    number = row.nodes[verdict][key]
    count = format_html('<text x="{}" y="14">{}</text>', x + 18, number) if grid.cell > CELL else ""
    title = f"{key} · {row.item} · {words.VERDICTS[verdict]}" + (f" × {number}" if grid.cell > CELL else "")
    return format_html(
        '<a class="cell is-{0}" href="{1}" aria-label="{2}"><title>{2}</title>'
        '<rect class="bg" x="{3}" width="{4}" height="20"/>'
        '<use href="#v-{0}" x="{5}" y="3.5" width="13" height="13"/>{6}</a>',
        verdict.value, links.cell(row.item, key), title, x, grid.cell, x + 1, count,
    )  # fmt: skip
