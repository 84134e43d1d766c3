"""One command of a probe: it ends, or it is ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from readiness_agent.command import Hung, run_command
from readiness_agent.facts import DENIED, MISSING, CouldNotMeasure


def test_a_command_answers_with_its_output_and_exit_code() -> None:
    result = run_command(["sh", "-c", "echo measured; echo odd >&2; exit 3"], 5)

    assert (result.exit_code, result.stdout, result.stderr) == (3, "measured\n", "odd\n")


def test_a_command_that_is_not_installed_is_missing() -> None:
    with pytest.raises(CouldNotMeasure, match="not installed") as raised:
        run_command(["no-such-tool-of-any-vendor"], 5)

    assert raised.value.kind == MISSING


def test_a_command_that_may_not_be_run_is_denied(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")

    with pytest.raises(CouldNotMeasure) as raised:
        run_command([str(tmp_path / "tool")], 5)

    assert raised.value.kind == DENIED


def test_a_command_past_its_deadline_is_hung() -> None:
    with pytest.raises(Hung, match=r"no answer after 0\.2 s") as raised:
        run_command(["sleep", "7321"], 0.2)

    assert raised.value.stuck == ()


def test_term_comes_before_kill(tmp_path: Path) -> None:
    """A GPU tool that is killed inside the driver can take the GPU with it."""
    mark = tmp_path / "cleaned-up"

    with pytest.raises(Hung):
        run_command(["sh", "-c", f"trap 'echo yes > {mark}; exit' TERM; while :; do sleep 0.05; done"], 0.3)

    assert mark.read_text() == "yes\n"


def test_no_variable_of_the_caller_reaches_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")

    names = {line.partition("=")[0] for line in run_command(["env"], 5).stdout.splitlines()}

    assert names == {"PATH", "LC_ALL", "HOME"}


def test_bytes_that_are_no_text_are_replaced_and_stop_nothing() -> None:
    assert run_command(["printf", r"a\377b"], 5).stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_no_descriptor_is_left_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))

    run_command(["true"], 5)

    assert len(list(Path("/proc/self/fd").iterdir())) == before
