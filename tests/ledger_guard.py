"""Watches that the ledger's lock is the last that a transaction takes, whatever test is running.

Every act of the site queues up at that lock. A row locked after it can be one that somebody in the queue already holds:
both then wait for each other.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.transaction import Atomic

LEDGER_LOCK = re.compile(r"pg_advisory_xact_lock\(hashtext\('countersign\.ledger'\)\)")
LOCKS = re.compile(
    r"^\s*(INSERT|UPDATE|DELETE|MERGE|TRUNCATE|LOCK|WITH\b.*\b(INSERT|UPDATE|DELETE)\b)|pg_advisory"
    r"|\bFOR\s+(NO\s+KEY\s+)?(UPDATE|SHARE)|\bFOR\s+KEY\s+SHARE",
    re.IGNORECASE | re.DOTALL,
)
# The entry itself, and the notice of it: neither has a key that two acts could both want.
ADDS = re.compile(r'^\s*INSERT INTO "(checks_ledgerentry|checks_outbox)"')
# An entry names its cluster and its person: a key lock on either would make every act wait for that one row.
WHOLE_ROW = re.compile(r'"(checks_cluster|accounts_user)".*\bFOR UPDATE(?! OF "checks_(?!cluster))', re.DOTALL)


@dataclass
class LedgerGuard:
    """What was wrong in the acts so far, a sentence each."""

    faults: list[str] = field(default_factory=list)
    _appended: bool = False
    _thread: int = field(default_factory=threading.get_ident)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at every statement of this thread's connection."""
        leave = Atomic.__exit__

        def left(atomic: Atomic, *error: Any) -> None:
            leave(atomic, *error)
            if threading.get_ident() == self._thread and not _in_an_act():
                self._appended = False

        Atomic.__exit__ = left  # type: ignore[method-assign]
        try:
            with connection.execute_wrapper(self._look):
                yield
        finally:
            Atomic.__exit__ = leave  # type: ignore[method-assign]

    def _look(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        text = str(sql)
        if LEDGER_LOCK.search(text):
            self._appended = True
        elif self._appended and LOCKS.search(text) and not ADDS.search(text):
            self.faults.append(f"After an entry in the ledger, in the same transaction: {text[:200]}")
        if WHOLE_ROW.search(text):
            self.faults.append(f"Locks the key of a row that entries name: {text[:200]}")
        return execute(sql, params, many, context)


def _in_an_act() -> bool:
    """Whether a transaction is open that is not the one in which every test runs."""
    return any(not block._from_testcase for block in connection.atomic_blocks)
