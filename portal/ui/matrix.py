"""Items on nodes as a heat map: runs of passes are one rectangle, so its size follows what deviates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from checks.domain.items import Item
from checks.domain.verdicts import ROLL_UP_ORDER, Layer, Verdict
from checks.selectors.pages_matrix import MatrixRow
from portal.ui import words

CELL = 15
# A column that stands for many nodes also holds their number.
WIDE_CELL = 36
# Few columns share this room, so that their map fills its sheet, or a phone; no cell grows beyond the widest.
ROOM, ROOM_BY_PLACE = 730, 120
WIDEST_CELL = 365
# Width of one character of a column's name.
CHARACTER = 7
GROUP_GAP = 9
# Wider than a page: the matrix scrolls under its sticky names.
PAGE_WIDTH = 1030
_MARK = '<a href="{}" class="{}"><title>{}</title><text x="{}" y="29" text-anchor="middle">{}</text></a>'
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
    unproved: int


@dataclass(frozen=True, slots=True)
class LayerLines:
    """The items of one layer, or what is said of whole nodes."""

    title: str | Promise
    said: str
    rows: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A heat map ready to be written down."""

    title: str | Promise
    hint: str | Promise
    width: int
    cell: int
    counted: bool
    groups: tuple[Group, ...]
    marks: SafeString
    layers: tuple[LayerLines, ...]
    # Only what deviates is drawn; a blank cell says nothing.
    sparse: bool = False
    legend: tuple[Verdict, ...] = LEGEND

    @property
    def kind(self) -> str:
        """Which of the two maps of a page it is: by node or by place."""
        return "place" if self.counted else "node"

    @property
    def quiet_width(self) -> int:
        """Width of a field that passes."""
        return self.cell - 4

    @property
    def dot_at(self) -> float:
        """Where a dot stands in the middle of its cell."""
        return self.cell / 2 - 2

    @property
    def titled(self) -> bool:
        """Whether items' titles have room beside their keys."""
        return not self.counted and self.width <= ROOM + CELL * GROUP_GAP

    @property
    def scrolls(self) -> bool:
        """Whether it may be wider than the page; one that is counted by place is also what a phone shows."""
        return self.counted or self.width > PAGE_WIDTH


@dataclass(frozen=True, slots=True)
class Links:
    """Where shapes and names lead: an item, and an item at one column."""

    item: Callable[[str], str]
    cell: Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class WholeNodes:
    """A line that is no item: nodes that are silent, column by column."""

    title: str
    href: str
    nodes: Mapping[str, int]


class Grid:
    """Where each column lies."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.counted = any(column.counted for column in columns)
        least, room = (WIDE_CELL, ROOM_BY_PLACE) if self.counted else (CELL, ROOM)
        self.cell = min(WIDEST_CELL, max(least, room // len(columns)))
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
    silent: Sequence[WholeNodes] | None = None,
) -> Matrix:
    """The heat map of *rows* over *columns*, layer by layer; what has no probe yet stands last.

    Where *silent* is given, *rows* hold only what deviates, and silent nodes are lines of their own in front.
    """
    grid = Grid(columns)
    found = {row.item: row for row in rows}
    layers = (
        [LayerLines(_("Whole nodes"), "", tuple(_silent_line(grid, each, links) for each in silent))] if silent else []
    )
    order = sorted(items, key=lambda key: items[key].shadow)
    for layer in Layer:
        keys = [key for key in order if items[key].layer is layer and key in found]
        lines = tuple(_line(grid, found[key], items[key], links, language) for key in keys)
        if lines:
            all_items = sum(item.layer is layer for item in items.values())
            said = _counted(len(lines), all_items if silent is not None else len(lines))
            layers.append(LayerLines(words.LAYERS[layer.value], said, lines))
    groups = [Group(_shared_start([column.key for column in columns]), 0)] if grid.counted else grid.groups
    marks = format_html_join("", _MARK, _marks(grid))
    return Matrix(
        title, hint, grid.end, grid.cell, grid.counted, tuple(groups), marks, tuple(layers), sparse=silent is not None
    )


def _counted(drawn: int, all_items: int) -> str:
    if drawn < all_items:
        return _("%(n)d of %(all)d items") % {"n": drawn, "all": all_items}
    return ngettext("%(n)d item", "%(n)d items", drawn) % {"n": drawn}


def _marks(grid: Grid) -> Iterator[tuple[str, str, str, str, str]]:
    """Columns' names above the map: each wide one's; of narrow ones those that are off, and the first of a group.

    None touches another. Address, class, title, middle and text of each.
    """
    taken: list[float] = []
    shared = _shared_start([column.key for column in grid.columns])
    starts = {group.x for group in grid.groups}
    for column in sorted(grid.columns, key=lambda column: not column.off):
        x = grid.at[column.key]
        middle = x + grid.cell / 2
        wanted = column.off or x in starts or grid.cell > CELL
        if not wanted or any(abs(middle - other) < 2 * CELL for other in taken):
            continue
        taken.append(middle)
        short = _short_place(column.key[len(shared) :], grid.cell) if grid.counted else _short(column.key, grid.cell)
        title = f"{column.key} ({column.nodes})" if column.counted else column.key
        yield column.href, "bad" if column.off else "", title, f"{middle:g}", short


def _short(hostname: str, room: int) -> str:
    """The host's own name where a column has the room, else its number."""
    own = hostname.split(".")[0]
    if room > 2 * CELL:
        most = room // CHARACTER
        return own if len(own) <= most else "…" + own[1 - most :]
    digits = "".join(character if character.isdigit() else " " for character in hostname.split(".")[0]).split()
    return digits[-1][-3:] if digits else hostname[:3]


def _short_place(place: str, room: int) -> str:
    most = room // CHARACTER
    return place if len(place) <= most else "…" + place[1 - most :]


def _shared_start(keys: Sequence[str]) -> str:
    """What all names begin with, up to their last letter or hyphen: it need not stand above each column."""
    if len(keys) < 2:
        return ""
    # Whatever the first and the last in order share, all between them share.
    pairs = zip(min(keys), max(keys), strict=False)
    return "".join(one for one, _other in takewhile(lambda pair: pair[0] == pair[1], pairs)).rstrip("0123456789")


def _line(grid: Grid, row: MatrixRow, item: Item, links: Links, language: str) -> Line:
    counts = tuple(
        Count(verdict.value, sum(row.nodes[verdict].values()))
        for verdict in ROLL_UP_ORDER
        if verdict in row.nodes and verdict is not Verdict.PASS
    )
    passes = sum(row.nodes.get(Verdict.PASS, {}).values())
    said = [*counts, Count("pass", passes)] if passes else list(counts)
    parts = [f"{each.count} {words.VERDICTS[each.verdict]}" for each in said]
    if row.unproved:
        parts.append(_("%(n)d not proved yet") % {"n": sum(row.unproved.values())})
    return Line(
        item=row.item,
        title=item.texts(language).title,
        href=links.item(row.item),
        off=Verdict.FAIL in row.nodes and not item.shadow,
        shadow=item.shadow,
        label=f"{row.item}: " + ", ".join(parts),
        shapes=_shapes(grid, row, links),
        counts=counts,
        unproved=sum(row.unproved.values()),
    )


def _silent_line(grid: Grid, line: WholeNodes, links: Links) -> Line:
    row, number = MatrixRow(line.title, {Verdict.STALE: line.nodes}, {}), sum(line.nodes.values())
    return Line(
        item=line.title,
        title=line.title,
        href=line.href,
        off=True,
        shadow=False,
        label=f"{line.title}: {number} {words.VERDICTS['stale']}",
        shapes=_shapes(grid, row, links),
        counts=(Count("stale", number),),
        unproved=0,
    )


def _shapes(grid: Grid, row: MatrixRow, links: Links) -> SafeString:
    worst = _worst(row)
    fields = grid.runs(key for key, verdict in worst.items() if verdict is Verdict.PASS)
    kind = "place" if grid.counted else "node"
    html = [_field(x, width, f"pass-{kind}") for x, width in fields]
    html += [
        _field(x, width, f"unproved-{kind}") for x, width in grid.runs(key for key in row.unproved if key not in worst)
    ]
    deviating = sorted(
        (grid.at[key], key) for key, verdict in worst.items() if verdict is not Verdict.PASS and key in grid.at
    )
    html += [_cell(grid, row, x, key, worst[key], links) for x, key in deviating]
    return mark_safe("".join(html))  # noqa: S308  (every piece is made by format_html)


def _field(x: int, width: int, kind: str) -> SafeString:
    """A pattern of squares, moved so that its squares sit in the columns."""
    return format_html('<rect class="field-{}" width="{}" height="20" transform="translate({})"/>', kind, width, x)


def _worst(row: MatrixRow) -> dict[str, Verdict]:
    worst: dict[str, Verdict] = {}
    for verdict in ROLL_UP_ORDER:
        for key in row.nodes.get(verdict, {}):
            worst.setdefault(key, verdict)
    return worst


def _cell(grid: Grid, row: MatrixRow, x: int, key: str, verdict: Verdict, links: Links) -> SafeString:
    number = row.nodes[verdict][key]
    count = format_html('<text x="{}" y="14">{}</text>', x + 16, number) if grid.counted else ""
    title = f"{key} · {row.item} · {words.VERDICTS[verdict]}" + (f" × {number}" if grid.counted else "")
    at = x + 1 if grid.counted else x + (grid.cell - 13) / 2
    return format_html(
        '<a class="cell is-{0}" href="{1}" aria-label="{2}"><title>{2}</title>'
        '<rect class="bg" x="{3}" width="{4}" height="20"/>'
        '<use href="#v-{0}" x="{5}" y="3.5" width="13" height="13"/>{6}</a>',
        verdict.value, links.cell(row.item, key), title, x, grid.cell, f"{at:g}", count,
    )  # fmt: skip
