"""A source that answers from a capture instead of the machine. What the capture lacks is *not captured*."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Protocol, Sequence, Tuple

from readiness_agent.facts import MISSING, NOT_CAPTURED, CouldNotMeasure
from readiness_agent.node import Moment
from readiness_agent.recording import OK, command_key
from readiness_agent.source import COMMAND_DEADLINE, CommandResult, FileStat, Json, ProbeContext


class Snapshot(Protocol):
    """What was saved of one node at one moment."""

    @property
    def moment(self) -> Moment:
        """When, by the clocks of the captured node."""
        ...

    def answer(self, kind: str, key: str) -> Any:
        """The saved answer; raises CouldNotMeasure with what was met then, or *not captured*."""
        ...


class Capture(NamedTuple):
    """One capture: its snapshots in time order, and what the captured node's configuration said to probes."""

    snapshots: Tuple[Snapshot, ...]
    context: ProbeContext
    hostname: str


def not_captured(what: str) -> CouldNotMeasure:
    """Nobody looked, so nobody may say that it is absent."""
    return CouldNotMeasure(NOT_CAPTURED, f"{what}: not in this capture")


class RecordedSnapshot:
    """The records of one run of ``capture``."""

    def __init__(self, moment: Moment, records: Sequence[Dict[str, Any]]) -> None:
        self._moment = moment
        self._records = {(record["kind"], record["key"]): record for record in records}

    @property
    def moment(self) -> Moment:
        return self._moment

    def answer(self, kind: str, key: str) -> Any:
        record = self._records.get((kind, key))
        if record is None:
            if kind == "exists":
                return self._was_there(key)
            raise not_captured(key)
        if record["outcome"] != OK:
            raise CouldNotMeasure(str(record["outcome"]), str(record.get("detail", "")))
        return record["value"]

    def _was_there(self, path: str) -> bool:
        """Whether a path existed, as far as another question about it tells."""
        for kind in ("read", "stat", "listdir", "readlink"):
            outcome = self._records.get((kind, path), {}).get("outcome")
            if outcome in (OK, MISSING):
                return bool(outcome == OK)
        raise not_captured(path)


class ReplaySource:
    """Answers from one snapshot; ``records`` lists the questions that it could answer."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.stuck: List[Tuple[int, int]] = []
        self.records: List[Dict[str, Json]] = []

    def now_boottime(self) -> float:
        return self._snapshot.moment.boottime

    def now_unix(self) -> float:
        return self._snapshot.moment.unix

    def read(self, path: str) -> str:
        return str(self._answer("read", path))

    def listdir(self, path: str) -> List[str]:
        return [str(name) for name in self._answer("listdir", path)]

    def glob(self, pattern: str) -> List[str]:
        return [str(path) for path in self._answer("glob", pattern)]

    def exists(self, path: str) -> bool:
        return bool(self._answer("exists", path))

    def stat(self, path: str) -> FileStat:
        return FileStat(*self._answer("stat", path))

    def readlink(self, path: str) -> str:
        return str(self._answer("readlink", path))

    def run(self, argv: Sequence[str], deadline: float = COMMAND_DEADLINE) -> CommandResult:
        exit_code, stdout, stderr, seconds = self._answer("run", command_key(argv))
        return CommandResult(tuple(argv), exit_code, stdout, stderr, seconds)

    def call(self, name: str, function: Callable[[], Json]) -> Json:
        answer: Json = self._answer("call", name)
        return answer

    def _answer(self, kind: str, key: str) -> Any:
        answer = self._snapshot.answer(kind, key)
        self.records.append({"kind": kind, "key": key})
        return answer


def merged(first: ProbeContext, second: ProbeContext) -> ProbeContext:
    """Settings of *first*, and of the capture (*second*) where it has none. Nothing disruptive: nothing is live."""
    return second._replace(
        job_user=first.job_user or second.job_user,
        checkpoint_dir=first.checkpoint_dir or second.checkpoint_dir,
        allow_disruptive=False,
        memory_dir=None,
    )
