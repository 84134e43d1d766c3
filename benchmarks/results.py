"""One figure against its target, printed as a row of the table in RESULTS.md."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured; *least* or *most* is the target, where there is one."""

    name: str
    value: float
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def row(self) -> str:
        """``| name | value unit | target | met |``."""
        if self.least is None and self.most is None:
            return f"| {self.name} | {self.value:,.4g} {self.unit} | | |"
        met = (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)
        target = f"≥ {self.least:,.4g}" if self.least is not None else f"≤ {self.most:,.4g}"
        return f"| {self.name} | {self.value:,.4g} {self.unit} | {target} | {'met' if met else '**missed**'} |"


def show(benchmark: str, figures: Sequence[Figure]) -> None:
    """Print the rows, as RESULTS.md holds them."""
    for figure in figures:
        print(figure.row.replace("| ", f"| {benchmark}: ", 1))
