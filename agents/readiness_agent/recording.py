"""A live source that also writes down every answer, refusals included, so that a replay gives the same ones."""

from __future__ import annotations

import json
import time
from typing import Any, Callable, Dict, List, Sequence, Tuple, TypeVar

from readiness_agent.facts import CouldNotMeasure
from readiness_agent.source import COMMAND_DEADLINE, CommandResult, FileStat, Json, LiveSource

T = TypeVar("T")

OK = "ok"


def command_key(argv: Sequence[str]) -> str:
    """The key of a command in a capture: its argument list as JSON."""
    return json.dumps(list(argv))


class RecordingSource:
    """Answers as :class:`~readiness_agent.source.LiveSource` does, and keeps one record an answer."""

    def __init__(self) -> None:
        self._live = LiveSource()
        self.records: List[Dict[str, Json]] = []

    @property
    def stuck(self) -> List[Tuple[int, int]]:
        """Of the commands that were run."""
        return self._live.stuck

    def now_boottime(self) -> float:
        return self._live.now_boottime()

    def now_unix(self) -> float:
        return self._live.now_unix()

    def read(self, path: str) -> str:
        return self._keep("read", path, lambda: self._live.read(path), str)

    def listdir(self, path: str) -> List[str]:
        return self._keep("listdir", path, lambda: self._live.listdir(path), list)

    def glob(self, pattern: str) -> List[str]:
        return self._keep("glob", pattern, lambda: self._live.glob(pattern), list)

    def exists(self, path: str) -> bool:
        return self._keep("exists", path, lambda: self._live.exists(path), bool)

    def stat(self, path: str) -> FileStat:
        return self._keep("stat", path, lambda: self._live.stat(path), list)

    def readlink(self, path: str) -> str:
        return self._keep("readlink", path, lambda: self._live.readlink(path), str)

    def run(self, argv: Sequence[str], deadline: float = COMMAND_DEADLINE) -> CommandResult:
        def without_argv(result: CommandResult) -> List[Json]:
            return list(result[1:])

        return self._keep("run", command_key(argv), lambda: self._live.run(argv, deadline), without_argv)

    def call(self, name: str, function: Callable[[], Json]) -> Json:
        def as_is(value: Json) -> Json:
            return value

        return self._keep("call", name, lambda: self._live.call(name, function), as_is)

    def _keep(self, kind: str, key: str, ask: Callable[[], T], stored: Callable[[T], Any]) -> T:
        record: Dict[str, Json] = {"kind": kind, "key": key, "captured_at": time.time()}
        self.records.append(record)
        try:
            answer = ask()
        except CouldNotMeasure as error:
            record.update(outcome=error.kind, detail=error.detail)
            raise
        record.update(outcome=OK, value=stored(answer))
        return answer
