"""What is counted while a dataset is read. Plain numbers, so that they can be put down and taken up again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Dict, List, Optional

MOST_NOTES = 20
"""Places a shard that are shown to people."""


@dataclass
class Tally:
    """Counts of one shard."""

    rows: int = 0
    tokens: int = 0
    lowest: Optional[int] = None
    highest: Optional[int] = None
    bits: int = 0
    """Width of a token id; 0 where the format has none, or the shard holds no ids."""
    signed: bool = False
    text_rows: int = 0
    id_rows: int = 0
    shortest: Optional[int] = None
    longest: Optional[int] = None
    """Tokens of a row."""
    invalid: int = 0
    replacements: int = 0
    hits: int = 0
    below: int = 0
    """Documents whose language is less certain than it should be."""
    faults: int = 0
    numbered: int = 0
    """Records that carry a whole number as their sample id."""
    unnumbered: int = 0
    misplaced: int = 0
    notes: List[List[str]] = field(default_factory=list)
    """Item, place and sentence for people, the first few."""

    def note(self, item: str, place: str, said: str) -> None:
        """Remember a place to look at."""
        if sum(1 for one in self.notes if one[0] == item) < MOST_NOTES:
            self.notes.append([item, place, said])

    def stretch(self, lowest: Optional[int], highest: Optional[int]) -> None:
        """Take in the bounds of some token ids."""
        if lowest is not None and highest is not None:
            self.lowest = lowest if self.lowest is None else min(self.lowest, lowest)
            self.highest = highest if self.highest is None else max(self.highest, highest)

    def as_json(self) -> Dict[str, Any]:
        """For the state file."""
        return asdict(self)


def tally_of(told: Dict[str, Any]) -> Tally:
    """The tally that `Tally.as_json` wrote; names that this version does not know are left."""
    known = {one.name for one in fields(Tally)}
    return Tally(**{name: value for name, value in told.items() if name in known})
