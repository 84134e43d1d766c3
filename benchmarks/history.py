"""What history costs on disk: bytes a row, measured; a month of 4,096 nodes with 40 results each, derived from them.

Sixty-four nodes report six times through the front door, and their numbers are rolled up as the worker does it. The
share of results that change from one report to the next is an assumption: one in a hundred, as in the targets.
"""

import time
from datetime import UTC, datetime

from benchmarks.fleet import Work
from benchmarks.ingest import NODES, Fleet
from benchmarks.machine import describe
from benchmarks.portal import database
from benchmarks.results import Figure, show

FLEET_NODES, RESULTS, REPORTS_A_MONTH = 4096, 40, 30 * 24 * 12
CHANGED = 0.01
HOURS_KEPT, DAYS = 7 * 24, 30
MOST_GB = 13.0


def main() -> None:
    """Run and print."""
    print(f"history · {describe()}")
    with database():
        from checks.services.rollups import roll_up

        fleet = Fleet.of("2xh200-virtual", Work.BUSY)
        roll_up(now=datetime.now(UTC))
        flip = _bytes_a_row("checks_flip")
        rollup = _bytes_a_row("checks_valuerollup")
        numbers = _one("SELECT count(DISTINCT (node_id, item, subject, name)) FROM checks_valuerollup") / NODES
    numbers_a_node = numbers / fleet.results * RESULTS
    flips = FLEET_NODES * RESULTS * REPORTS_A_MONTH * CHANGED * flip
    rollups = FLEET_NODES * numbers_a_node * (HOURS_KEPT + DAYS) * rollup
    show(
        "history",
        [
            Figure("a change of verdict", flip, "bytes"),
            Figure("an hour or a day of one number", rollup, "bytes"),
            Figure("numbers of a node with 40 results", numbers_a_node, ""),
            Figure("changes of a month, every one kept", flips / 1e9, "GB"),
            Figure("hours of seven days and days of a month", rollups / 1e9, "GB"),
            Figure("both, after a month of 4,096 nodes", (flips + rollups) / 1e9, "GB", most=MOST_GB),
        ],
    )


def _bytes_a_row(table: str) -> float:
    """Heap and indexes of *table* with its partitions."""
    size = _one(
        f"SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('{table}')"  # noqa: S608  (our own table)
    )
    return size / _one(f"SELECT count(*) FROM {table}")  # noqa: S608


def _one(statement: str) -> float:
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute(statement)
        return float(cursor.fetchone()[0])


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"  took {time.monotonic() - started:.0f} s")
