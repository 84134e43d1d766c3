"""What people may write down: moments that every zone and the database can hold, texts that look like what they are.

Of a text that is signed, a reader sees signs and not code points: one that turns the line around, or that nobody sees,
would have people sign something else than they read.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import Final

#: Far enough from the ends of the calendar that no zone and no sum leaves it: what was stored must be readable again.
EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)

# Unicode's categories: controls, formats (joiners, turns of direction), surrogates, ends of lines and paragraphs.
_NO_SIGNS: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_LAYOUT: Final = frozenset("\n\r\t")
# Embeddings, overrides and isolates: they reach over the text that they stand in.
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_storable(moment: datetime) -> bool:
    """Whether *moment* is of a year that people mean, from 2000 to 2199."""
    return EARLIEST <= moment < LATEST


def is_line(text: str) -> bool:
    """Whether *text* is one line in which every sign is seen, where it stands."""
    return not any(unicodedata.category(sign) in _NO_SIGNS for sign in text)


def as_line(text: str) -> str:
    """*text* as one line for which `is_line` holds: what parts words is a blank, and what nobody sees is left out."""
    told = "".join(" " if sign.isspace() else sign for sign in text)
    return " ".join("".join(sign for sign in told if is_line(sign)).split())


def is_prose(text: str) -> bool:
    """Whether *text* may stand in the ledger: several lines, and joiners as scripts need them, but no control."""
    return not any(
        sign in _TURNING or (unicodedata.category(sign) in ("Cc", "Cs") and sign not in _LAYOUT) for sign in text
    )
