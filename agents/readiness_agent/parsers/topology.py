"""``nvidia-smi topo -m``: how GPUs and network cards of a node reach each other."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from readiness_agent.parsers.saved import Reading, Saved, whole
from readiness_agent.parsers.terminal import finished_lines, without_escapes

NEAREST_FIRST = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""Paths over PCIe, the shortest first; a card that is only reached over NODE or SYS is nobody's own."""
_NEAR = NEAREST_FIRST[:3]

_NAME = re.compile(r"(?:GPU|NIC|mlx5_)[0-9]{1,3}|[a-z]+[0-9_]+")
_GPU = re.compile(r"GPU[0-9]{1,3}")
_PATH = re.compile(r"NV([0-9]{1,2})|X|PIX|PXB|PHB|NODE|SYS")
_CPUS = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")


class Matrix:
    """The table: paths by row and column, and the columns that describe GPUs."""

    def __init__(self, columns: List[str], rows: Dict[str, List[str]]) -> None:
        self.columns = columns
        self.rows = rows

    @property
    def gpus(self) -> List[str]:
        return [name for name in self.rows if _GPU.fullmatch(name)]

    @property
    def cards(self) -> List[str]:
        return [name for name in self.columns if not _GPU.fullmatch(name)]

    def path(self, row: str, column: str) -> str:
        place = self.columns.index(column)
        cells = self.rows[row]
        return cells[place] if place < len(cells) else ""

    def after(self, row: str) -> List[str]:
        """Cells behind the paths: CPU affinity, NUMA node, the GPU's own NUMA id."""
        return self.rows[row][len(self.columns) :]


def read_topology(text: str) -> Saved:
    """GPUs, their links to each other, and the card next to each. Never raises."""
    reading = Reading()
    matrix = _matrix(without_escapes(text))
    if matrix is None or not matrix.gpus:
        reading.problem("there is no table of nvidia-smi topo -m in this text")
        return reading.result()
    absent = [name for name in matrix.columns if _GPU.fullmatch(name) and name not in matrix.rows]
    if absent:
        reading.problem(f"the rows of {', '.join(absent)} are missing: the table was cut")
        return reading.result()
    reading.fact("gpus", len(matrix.gpus), "count")
    reading.fact("nics", len(matrix.cards), "count")
    _pairs(reading, matrix)
    for name in matrix.gpus:
        _one_gpu(reading, matrix, name)
    far = [card for card in matrix.cards if not any(matrix.path(gpu, card) in _NEAR for gpu in matrix.gpus)]
    reading.fact("nics_far_from_all_gpus", " ".join(far) or None, "text")
    return reading.result()


def _matrix(text: str) -> Optional[Matrix]:
    """Cells are separated by tabs or by blanks; `` X `` is one cell either way."""
    columns: List[str] = []
    rows: Dict[str, List[str]] = {}
    for line in finished_lines(text):
        cells = line.split()
        if not columns and cells and cells[0] == "GPU0" and "X" not in cells:
            columns = [cell for cell in cells if _NAME.fullmatch(cell)]
        elif columns and _is_row(cells, len(columns)):
            rows[cells[0]] = cells[1:]
    return Matrix(columns, rows) if columns else None


def _is_row(cells: List[str], width: int) -> bool:
    is_named = len(cells) > width and bool(_NAME.fullmatch(cells[0]))
    return is_named and all(_PATH.fullmatch(cell) for cell in cells[1 : width + 1])


def _pairs(reading: Reading, matrix: Matrix) -> None:
    gpus = [name for name in matrix.gpus if name in matrix.columns]
    if any(matrix.path(one, other) != matrix.path(other, one) for one in gpus for other in gpus if one != other):
        reading.problem("the table is not symmetric: two GPUs do not agree on the path between them")
        return
    paths = [matrix.path(one, other) for place, one in enumerate(gpus) for other in gpus[place + 1 :]]
    links = [found for found in map(_PATH.fullmatch, paths) if found and found[1]]
    reading.fact("gpu_pairs", len(paths), "count")
    reading.fact("gpu_pairs_nvlink", len(links), "count")
    reading.fact("gpu_pairs_sys", paths.count("SYS"), "count")
    if links:
        counts = sorted({int(found[1]) for found in links})
        reading.fact("nvlinks_a_pair", " ".join(str(count) for count in counts), "text")
    if paths:
        reading.fact("nvlink_all_to_all", len(links) == len(paths), "bool")


def _one_gpu(reading: Reading, matrix: Matrix, name: str) -> None:
    subject = f"gpu{name[3:]}"
    affinity = matrix.after(name)
    if affinity and _CPUS.fullmatch(affinity[0]):
        reading.fact("cpu_affinity", affinity[0], "text", subject)
        reading.fact("numa_node", whole(affinity[1]) if len(affinity) > 1 else None, "count", subject)
    counts = [int(found[1]) for found in map(_PATH.fullmatch, _to_gpus(matrix, name)) if found and found[1]]
    if len(set(counts)) > 1 or len(counts) < len(matrix.gpus) - 1:
        reading.fact("nvlinks", sum(counts) or None, "count", subject)
    cards, path = _nearest(matrix, name)
    reading.fact("nearest_nics", " ".join(cards) or None, "text", subject)
    reading.fact("nearest_nic_path", path or None, "text", subject)


def _to_gpus(matrix: Matrix, name: str) -> List[str]:
    return [matrix.path(name, other) for other in matrix.gpus if other in matrix.columns]


def _nearest(matrix: Matrix, gpu: str) -> Tuple[List[str], str]:
    """The cards on the shortest path to *gpu*."""
    for path in NEAREST_FIRST:
        cards = [card for card in matrix.cards if matrix.path(gpu, card) == path]
        if cards:
            return cards, path
    return [], ""
