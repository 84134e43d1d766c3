"""When things were measured, by the portal's clock.

Ages are taken from clocks of the node alone (boot clock inside the report, Report-Age from writing to sending), so a
node whose wall clock is wrong is judged right. Every age is at least 0: nothing is measured after it was received.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from checks.services.report_v1 import ReportV1


@dataclass(frozen=True, slots=True)
class ReportClock:
    """*written_at*: when the report was finished; *boottime*: what the node's boot clock showed then."""

    received_at: datetime
    written_at: datetime
    boottime: float

    @classmethod
    def of(cls, report: ReportV1, *, received_at: datetime, age_s: float | None) -> "ReportClock":
        """The clock of *report*, *age_s* seconds old when it was sent.

        Without a stated age the node's wall clock has to do; a report from its future counts as new.
        """
        if age_s is None:
            age_s = received_at.timestamp() - report.clock.unix
        return cls(received_at, received_at - _span(age_s), report.clock.boottime)

    def observed(self, boot_seconds: float) -> datetime:
        """When a fact with that boot clock was measured."""
        return self.written_at - _span(self.boottime - boot_seconds)


_LONGEST = timedelta(days=3650)


def _span(seconds: float) -> timedelta:
    return timedelta(seconds=min(max(0.0, seconds), _LONGEST.total_seconds()))
