"""Read a bill from CSV: an AWS Cost and Usage Report, or a plain list of causes and amounts. Nothing is guessed."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Final

from checks.domain.cost.actual import Cause
from checks.domain.errors import CountersignError

#: US dollars in one row, and rows in one file, beyond which it is no bill of a training run.
MOST_USD: Final = Decimal(10) ** 9
MOST_ROWS: Final = 500_000


class BillUnreadable(CountersignError):
    """The file is no bill that can be read; the message names the line and says what to do."""

    code = "bill_unreadable"


class BillForm(StrEnum):
    """What a file of a bill looks like."""

    PLAIN = "plain"
    AWS_CUR = "aws_cur"


@dataclass(frozen=True, slots=True)
class Bill:
    """US dollars by cause, and how many rows cost something."""

    form: BillForm
    billed: Mapping[Cause, Decimal]
    rows: int

    @property
    def total(self) -> Decimal:
        """US dollars of the whole bill."""
        return sum(self.billed.values(), Decimal(0))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where a form keeps what we read. A plain list names its cause; AWS names a usage type."""

    form: BillForm
    amount: str
    kind: str
    currency: str


_FORMS: Final = (
    _Columns(BillForm.AWS_CUR, "line_item_unblended_cost", "line_item_usage_type", "line_item_currency_code"),
    _Columns(BillForm.AWS_CUR, "lineItem/UnblendedCost", "lineItem/UsageType", "lineItem/CurrencyCode"),
    _Columns(BillForm.PLAIN, "amount", "cause", "currency"),
)
# In this order: "NatGateway-Bytes" and "USE1-USE2-AWS-Out-Bytes" move bytes, "TimedStorage-ByteHrs" keeps them.
_USAGE: Final = (
    (re.compile(r"(^|[-:])A?Bytes($|[-:])|DataTransfer"), Cause.EGRESS),
    (re.compile(r"(^|-)(TimedStorage|EBS:Volume|EBS:Snapshot)"), Cause.STORAGE),
    (re.compile(r"(^|-)Requests-"), Cause.REQUESTS),
    (re.compile(r"(^|-)(BoxUsage|SpotUsage|UnusedBox|DedicatedUsage|HostBoxUsage|Reservation)(:|$)"), Cause.COMPUTE),
)


def read_bill(text: str) -> Bill:
    """The bill in a CSV file.

    Raises:
        BillUnreadable: neither form; an amount that is none, in another currency than USD, or out of all bounds; a
            plain cause that is not known; nothing billed at all.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        columns = _columns(reader.fieldnames or ())
        return _sum(columns, reader)
    except csv.Error as error:
        raise BillUnreadable(f"Line {reader.line_num} is no CSV: {error}; export the file again.") from error


def _columns(names: object) -> _Columns:
    listed = names if isinstance(names, list) else []
    for columns in _FORMS:
        if {columns.amount, columns.kind} <= set(listed):
            _require_once(listed, columns)
            return columns
    raise BillUnreadable(
        "The first line names no columns of a bill; give an AWS Cost and Usage Report, or a file with the columns "
        "cause, amount and currency."
    )


def _require_once(names: Sequence[str], columns: _Columns) -> None:
    """Of two columns of one name nobody can say which is meant."""
    for name in (columns.amount, columns.kind, columns.currency):
        if names.count(name) > 1:
            raise BillUnreadable(f"The first line names the column {name} twice; leave one out.")


def _require_whole(row: Mapping[str | None, object], line: int) -> None:
    """A comma within an amount makes a cell too many, a file that was cut leaves cells out."""
    if None in row:
        raise BillUnreadable(f"Line {line} has more cells than the first line; write amounts as 1234.56.")
    if None in row.values():
        raise BillUnreadable(f"Line {line} has fewer cells than the first line; export the whole file again.")


def _sum(columns: _Columns, reader: csv.DictReader[str]) -> Bill:
    billed: defaultdict[Cause, Decimal] = defaultdict(Decimal)
    rows = 0
    for count, row in enumerate(reader, 1):
        if count > MOST_ROWS:
            raise BillUnreadable(f"The file has more than {MOST_ROWS} rows; leave out what is not of this run.")
        _require_whole(row, reader.line_num)
        amount = _amount(columns, row, reader.line_num)
        if amount:
            rows += 1
            billed[_cause(columns, row, reader.line_num)] += amount
    found = Bill(columns.form, dict(billed), rows)
    if found.total <= 0:
        raise BillUnreadable(f"The file bills {found.total} USD in all; give the file of the time of the run.")
    return found


def _amount(columns: _Columns, row: Mapping[str, str | None], line: int) -> Decimal:
    text = (row.get(columns.amount) or "").strip()
    currency = (row.get(columns.currency) or "USD").strip()
    try:
        amount = Decimal(text or "0")
    except InvalidOperation:
        raise BillUnreadable(f"Line {line}: {text[:40]!r} is no amount; write it as 1234.56.") from None
    if currency != "USD":
        raise BillUnreadable(f"Line {line} is in {currency[:10]!r}; give the bill in USD.")
    if not amount.is_finite() or abs(amount) > MOST_USD:
        raise BillUnreadable(f"Line {line}: {text[:40]} USD is out of all bounds; check the column.")
    if amount < 0 and columns.form is BillForm.PLAIN:
        raise BillUnreadable(f"Line {line}: {text[:40]} USD is less than 0; leave credits out.")
    return amount


def _cause(columns: _Columns, row: Mapping[str, str | None], line: int) -> Cause:
    kind = (row.get(columns.kind) or "").strip()
    if columns.form is BillForm.AWS_CUR:
        return next((cause for pattern, cause in _USAGE if pattern.search(kind)), Cause.OTHER)
    try:
        return Cause(kind.lower())
    except ValueError:
        known = ", ".join(Cause)
        raise BillUnreadable(f"Line {line}: {kind[:40]!r} is no cause; write one of {known}.") from None
