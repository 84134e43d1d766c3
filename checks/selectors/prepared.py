"""Hot statements, prepared on the server once a connection: planning them would cost more than running them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
# Django switches prepared statements off; this lets the calls below ask for them, and nothing else gets one.
_ONLY_WHEN_ASKED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with numbered parameters, as the server prepares it, and the order of their names."""

    text: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, named: str) -> "Statement":
        """Number the ``%(name)s`` of *named*; once, because the driver would parse a long statement each time."""
        names = tuple(dict.fromkeys(_PLACEHOLDER.findall(named)))
        numbers = {name: f"${place}" for place, name in enumerate(names, start=1)}
        return cls(_PLACEHOLDER.sub(lambda found: numbers[found[1]], named), names)


def fetch_row(statement: Statement, parameters: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """The first row of *statement*, counted and logged as any statement of Django's is."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    raw = connection.connection
    if raw.prepare_threshold is None:
        raw.prepare_threshold = _ONLY_WHEN_ASKED
    with connection._prepare_cursor(_PreparedCursor(raw)) as cursor:  # type: ignore[attr-defined]
        cursor.execute(statement.text, [parameters[name] for name in statement.names])
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


class _PreparedCursor(psycopg.RawCursor[Any]):
    """A cursor that prepares whatever it executes."""

    def execute(self, query: Any, params: Any = None, **_: Any) -> Any:
        return super().execute(query, params, prepare=True)
