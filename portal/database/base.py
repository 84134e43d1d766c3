"""PostgreSQL as Django speaks to it, where somebody waits for the answer.

A server that stands still (a frozen process, a disk that hangs) keeps no time of its own: ``statement_timeout`` never
fires there, and psycopg would wait for ever. With the option ``patience_s`` this side keeps the time instead: it drops
the connection, and for a moment opens no other, so that those who come next are told at once and not one after the
other held as long.
"""

import time
from typing import Any

import psycopg
from django.db.backends.postgresql import base as postgresql
from django.db.backends.postgresql.psycopg_any import IsolationLevel
from psycopg.pq import TransactionStatus

#: Seconds without a new connection after the server left somebody waiting.
PAUSE_S = 2.0


class Silence:
    """Until when this process takes the server for silent, by the monotonic clock."""

    def __init__(self) -> None:
        self._until = 0.0

    def note(self) -> None:
        """It has just left somebody waiting."""
        self._until = time.monotonic() + PAUSE_S

    def refuse(self) -> None:
        """Raise ``OperationalError`` while the server is taken for silent."""
        if time.monotonic() < self._until:
            raise psycopg.OperationalError("the database did not answer a moment ago")


_silence = Silence()


class ImpatientConnection(psycopg.Connection[Any]):
    """A connection that is dropped when the server owes it an answer for longer than ``patience_s``."""

    patience_s: float = 5.0

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server; raises ``OperationalError`` when it does not answer in time."""
        try:
            return super().wait(gen, interval, self.patience_s if timeout is None else timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate is not None or self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            self.close()
            _silence.note()
            raise psycopg.OperationalError(f"no answer from the database within {self.patience_s:g} s") from None


class DatabaseWrapper(postgresql.DatabaseWrapper):
    """Django's own, which opens impatient connections where ``OPTIONS`` hold ``patience_s``."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> psycopg.Connection[Any]:
        """Connect; raises ``OperationalError`` at once while the server is taken for silent."""
        patience_s = conn_params.pop("patience_s", None)
        if patience_s is None:
            return super().get_new_connection(conn_params)
        self.isolation_level = IsolationLevel.READ_COMMITTED
        _silence.refuse()
        try:
            connection = ImpatientConnection.connect(**conn_params)
        except psycopg.errors.ConnectionTimeout:
            _silence.note()
            raise
        connection.patience_s = patience_s
        return connection
