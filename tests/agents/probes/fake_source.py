"""A world in memory for probes: what is not in it is absent, or not captured, as the test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Union

from readiness_agent.facts import MISSING, NOT_CAPTURED, CouldNotMeasure, ProbeResult
from readiness_agent.source import COMMAND_DEADLINE, CommandResult, FileStat, Json

Answer = Union[str, CommandResult, CouldNotMeasure]  # noqa: UP007  (read by Python 3.9 too)

NOW = 5000.0


def ended(stdout: str = "", exit_code: int = 0, stderr: str = "") -> CommandResult:
    """A command that ended."""
    return CommandResult((), exit_code, stdout, stderr, 0.1)


class FakeSource:
    """Files by path, commands by their words joined with blanks, calls by name."""

    def __init__(
        self,
        files: Mapping[str, str | CouldNotMeasure] | None = None,
        commands: Mapping[str, Answer] | None = None,
        calls: Mapping[str, Json | CouldNotMeasure] | None = None,
        absent: str = MISSING,
    ) -> None:
        self.files = dict(files or {})
        self.commands = dict(commands or {})
        self.calls = dict(calls or {})
        self.absent = absent
        self.asked: list[str] = []

    def now_boottime(self) -> float:
        return NOW

    def now_unix(self) -> float:
        return 1_795_983_560.0

    def read(self, path: str) -> str:
        if path not in self.files:
            raise self._absent(path)
        text = self.files[path]
        if isinstance(text, CouldNotMeasure):
            raise text
        return text

    def listdir(self, path: str) -> list[str]:
        names = {one[len(path) + 1 :].split("/")[0] for one in self.files if one.startswith(path + "/")}
        if not names:
            raise self._absent(path)
        return sorted(names)

    def glob(self, pattern: str) -> list[str]:
        depth = pattern.count("/")
        return sorted(one for one in self.files if one.count("/") == depth and fnmatchcase(one, pattern))

    def exists(self, path: str) -> bool:
        return path in self.files

    def stat(self, path: str) -> FileStat:
        raise self._absent(path)

    def readlink(self, path: str) -> str:
        raise self._absent(path)

    def run(self, argv: Sequence[str], deadline: float = COMMAND_DEADLINE) -> CommandResult:
        line = " ".join(argv)
        self.asked.append(line)
        answer = self.commands.get(line, self._absent(argv[0]))
        if isinstance(answer, CouldNotMeasure):
            raise answer
        return ended(answer) if isinstance(answer, str) else answer

    def call(self, name: str, function: Callable[[], Json]) -> Json:
        self.asked.append(name)
        answer = self.calls.get(name, self._absent(name))
        if isinstance(answer, CouldNotMeasure):
            raise answer
        return answer

    def _absent(self, what: str) -> CouldNotMeasure:
        return CouldNotMeasure(self.absent, f"{what}: {'not captured' if self.absent == NOT_CAPTURED else 'not there'}")


def files_below(directory: Path) -> dict[str, str]:
    """The files of a captured node by the path they had there."""
    return {
        "/" + str(one.relative_to(directory)): one.read_bytes().decode("utf-8", "replace")
        for one in directory.rglob("*")
        if one.is_file()
    }


def values(result: ProbeResult, item: str, subject: str = "") -> dict[str, object]:
    """The facts of one item of one subject, by name."""
    return {one.name: one.value for one in result.facts if (one.item, one.subject) == (item, subject)}


def problems(result: ProbeResult, item: str) -> list[tuple[str, str]]:
    """Subject and kind of every problem of one item."""
    return [(one.subject, one.kind) for one in result.problems if one.item == item]
