"""What this portal itself has counted of interruptions, and what it makes of a run's outlook."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from checks.domain.reliability.forecast import Forecast, Job, forecast
from checks.domain.reliability.posterior import History
from checks.models import OVER, Cluster, LedgerEntry, Run, RunStart, StartKind
from checks.selectors.costs import base_rates
from checks.selectors.hardware_counts import gpus_per_node

_DAY_S: Final = 86_400.0


def history_of(cluster: Cluster, *, now: datetime) -> History:
    """Restarts of the cluster's runs that were told, and the node-days of those runs from their first start on.

    A run that is over was watched until it was said to be; one that goes on, until now.
    """
    starts = RunStart.objects.filter(run__cluster=cluster).select_related("run").order_by("at", "id")
    first: dict[int, RunStart] = {}
    failures = 0
    for start in starts:
        first.setdefault(start.run_id, start)
        failures += start.kind == StartKind.RESTART
    ended = _ends([start.run for start in first.values()])
    days = sum(_node_days(start, ended.get(start.run.slug, now)) for start in first.values())
    return History(failures, days)


def outlook_of(run: Run, *, now: datetime) -> Forecast | None:
    """What *run* has to expect on the nodes and in the time that it asks for; None where nodes have no GPU."""
    gpus = gpus_per_node(run.cluster)
    if gpus == 0:
        return None
    days = (run.planned_end - run.planned_start).total_seconds() / _DAY_S
    job = Job(nodes=run.nodes_needed, gpus=gpus, days=days)
    return forecast(job, base_rates(), history_of(run.cluster, now=now))


def _ends(runs: list[Run]) -> Mapping[str, datetime]:
    """When the runs that are over were said to be, by name."""
    over = [run for run in runs if run.stage in OVER]
    told = LedgerEntry.objects.filter(
        cluster__in={run.cluster_id for run in over}, what="stage_moved", target__in=[run.slug for run in over],
        data__after__in=list(OVER),
    )  # fmt: skip
    return dict(told.order_by("seq").values_list("target", "at"))


def _node_days(start: RunStart, end: datetime) -> float:
    return len(start.hostnames) * max((end - start.at).total_seconds(), 0.0) / _DAY_S
