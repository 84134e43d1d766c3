"""Cells of files that people open in a spreadsheet: texts of nodes and of others' price lists stand in them."""

import re

_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")


def safe_cell(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula; a number stays one."""
    return f"'{cell}" if cell.startswith(_STARTS) and not _NUMBER.fullmatch(cell) else cell
