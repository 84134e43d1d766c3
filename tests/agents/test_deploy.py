"""The one file that nodes download, and the script that puts it in place and takes it away."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from checks.services import agent_archive
from readiness_agent import __version__
from tests.agents.portals import Asked, LoopbackPortal, Reply

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "agents/deploy"


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("built") / "readiness-agent.pyz"
    subprocess.run(
        [sys.executable, str(ROOT / "agents/build_pyz.py"), "-o", str(path)], check=True, capture_output=True
    )
    return path


@pytest.fixture
def download(portal: LoopbackPortal, pyz: Path) -> LoopbackPortal:
    """A portal that serves the agent and enrols whoever asks."""
    content = pyz.read_bytes()

    def serve(asked: Asked) -> Reply:
        if asked.path == "/agent/readiness-agent.pyz":
            return Reply(200, content)
        if asked.path == "/agent/readiness-agent.pyz.sha256":
            return Reply(200, f"{hashlib.sha256(content).hexdigest()}  readiness-agent.pyz\n".encode())
        return Reply.of_json(201, {"token": "cs_agent_k_s", "hostname": "node-1", "cluster": "alpha"})

    portal.answer = serve
    return portal


def install(root: Path, *arguments: str, token: str = "") -> subprocess.CompletedProcess[str]:
    """Run the script below *root*; it starts nothing there."""
    return subprocess.run(
        ["sh", str(DEPLOY / "install.sh"), "--python", sys.executable, *arguments], input=token, text=True,
        capture_output=True, env={**os.environ, "DESTDIR": str(root)}, check=False,
    )  # fmt: skip


def test_the_same_sources_make_the_same_file(pyz: Path, tmp_path: Path) -> None:
    again = tmp_path / "readiness-agent.pyz"
    subprocess.run(
        [sys.executable, str(ROOT / "agents/build_pyz.py"), "-o", str(again)], check=True, capture_output=True
    )

    assert again.read_bytes() == pyz.read_bytes()
    assert (
        pyz.with_name("readiness-agent.pyz.sha256").read_text().split()[0]
        == hashlib.sha256(pyz.read_bytes()).hexdigest()
    )


def test_the_portal_serves_the_file_that_the_build_makes(pyz: Path) -> None:
    assert agent_archive.build(ROOT / "agents") == pyz.read_bytes()


def test_the_one_file_runs_by_itself(pyz: Path) -> None:
    run = subprocess.run([sys.executable, "-I", str(pyz), "--version"], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == __version__


def test_installing_leaves_an_enrolled_agent_and_a_cron_line(download: LoopbackPortal, tmp_path: Path) -> None:
    done = install(tmp_path, "--portal", download.url, "--token-file", "-", "--cron", token="cs_enrolment_k_s\n")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "etc/readiness-agent/token").read_text() == "cs_agent_k_s\n"
    assert (tmp_path / "etc/cron.d/readiness-agent").read_text() == (DEPLOY / "readiness-agent.cron").read_text()
    assert (
        (tmp_path / "usr/local/bin/readiness-agent").read_text().endswith('/usr/local/lib/readiness-agent/agent "$@"\n')
    )


def test_what_is_installed_runs_and_can_be_held_against_its_checksum(
    download: LoopbackPortal, pyz: Path, tmp_path: Path
) -> None:
    for _ in ("first", "update"):
        install(tmp_path, "--portal", download.url, "--token-file", "-", "--cron", token="cs_enrolment_k_s\n")
    agent = tmp_path / "usr/local/lib/readiness-agent/agent"

    run = subprocess.run([sys.executable, "-I", str(agent), "--version"], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == __version__
    assert (agent / "readiness-agent.pyz").read_bytes() == pyz.read_bytes()


def test_an_update_changes_one_link_and_keeps_the_version_before_and_no_other(
    download: LoopbackPortal, tmp_path: Path
) -> None:
    versions = []
    for _ in range(3):
        install(tmp_path, "--portal", download.url, "--token-file", "-", "--cron", token="cs_enrolment_k_s\n")
        versions.append((tmp_path / "usr/local/lib/readiness-agent/agent").readlink().name)

    assert len(set(versions)) == 3
    left = {path.name for path in (tmp_path / "usr/local/lib/readiness-agent").iterdir()}
    assert left == {"agent", *versions[1:]}


def test_an_agent_of_an_installer_without_links_is_taken_over(download: LoopbackPortal, tmp_path: Path) -> None:
    old = tmp_path / "usr/local/lib/readiness-agent/agent"
    old.mkdir(parents=True)
    (old / "__main__.py").write_text("")

    done = install(tmp_path, "--portal", download.url, "--token-file", "-", "--cron", token="cs_enrolment_k_s\n")

    assert done.returncode == 0, done.stderr
    assert old.is_symlink()
    assert (old / "readiness_agent").is_dir()


def test_spaces_and_quotes_in_paths_are_part_of_the_path(download: LoopbackPortal, tmp_path: Path) -> None:
    root = tmp_path / "a root's place"
    python = tmp_path / "somebody's python" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)

    done = install(root, "--portal", download.url, "--token-file", "-", "--cron", "--python", str(python), token="t\n")

    assert done.returncode == 0, done.stderr
    command = (root / "usr/local/bin/readiness-agent").read_text()
    moved = command.replace(
        " /usr/local", f" '{str(root).replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'/usr/local"
    )
    run = subprocess.run(["sh", "-c", moved, "sh", "--version"], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == __version__, run.stderr


def test_an_installation_that_is_interrupted_leaves_the_agent_before_it_and_no_litter(
    download: LoopbackPortal, tmp_path: Path
) -> None:
    install(tmp_path, "--portal", download.url, "--token-file", "-", "--cron", token="cs_enrolment_k_s\n")
    before = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if "__pycache__" not in path.parts)
    asked, go_on = threading.Event(), threading.Event()

    def linger(_: Asked) -> Reply:
        asked.set()
        go_on.wait(20)
        return Reply(500)

    download.answer = linger
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    running = subprocess.Popen(
        ["sh", str(DEPLOY / "install.sh"), "--python", sys.executable, "--portal", download.url],
        env={**os.environ, "DESTDIR": str(tmp_path), "TMPDIR": str(scratch)}, start_new_session=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert asked.wait(20)
    os.killpg(running.pid, signal.SIGTERM)

    assert running.wait(20) == 1
    go_on.set()
    assert list(scratch.iterdir()) == []
    scratch.rmdir()
    after = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if "__pycache__" not in path.parts)
    assert after == before


def test_removing_twice_is_no_error(download: LoopbackPortal, tmp_path: Path) -> None:
    install(tmp_path, "--portal", download.url, "--token-file", "-", "--cron", token="cs_enrolment_k_s\n")

    assert [install(tmp_path, "--remove").returncode for _ in range(2)] == [0, 0]


def test_with_systemd_it_leaves_a_timer(download: LoopbackPortal, tmp_path: Path) -> None:
    install(tmp_path, "--portal", download.url, "--token-file", "-", "--systemd", token="cs_enrolment_k_s\n")

    for unit in ("readiness-agent.service", "readiness-agent.timer"):
        assert (tmp_path / "etc/systemd/system" / unit).read_text() == (DEPLOY / unit).read_text()


def test_an_agent_with_another_checksum_is_not_installed(download: LoopbackPortal, tmp_path: Path) -> None:
    done = install(tmp_path, "--portal", download.url, "--token-file", "-", "--sha256", "0" * 64, token="t\n")

    assert done.returncode == 1
    assert "SHA-256" in done.stderr
    assert not (tmp_path / "usr").exists()


def test_a_damaged_download_is_not_installed(download: LoopbackPortal, tmp_path: Path) -> None:
    serve = download.answer
    download.answer = lambda asked: Reply(200, b"half") if asked.path.endswith(".pyz") else serve(asked)

    assert install(tmp_path, "--portal", download.url, "--token-file", "-", token="t\n").returncode == 1
    assert not (tmp_path / "usr").exists()


def test_removing_takes_everything_but_the_configuration(download: LoopbackPortal, tmp_path: Path) -> None:
    install(tmp_path, "--portal", download.url, "--token-file", "-", "--cron", token="cs_enrolment_k_s\n")

    assert install(tmp_path, "--remove").returncode == 0

    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["etc/readiness-agent/agent.json", "etc/readiness-agent/token"]


def test_purging_leaves_nothing(download: LoopbackPortal, tmp_path: Path) -> None:
    install(tmp_path, "--portal", download.url, "--token-file", "-", "--cron", token="cs_enrolment_k_s\n")

    install(tmp_path, "--remove", "--purge")

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--portal", "http://portal.example"],
        ["--portal", "http://localhost:80@portal.example"],
        ["--portal", "http://127.0.0.1.portal.example"],
        [],
        ["--token", "secret"],
        ["--portal"],
        ["--purge"],
    ],
)
def test_wrong_usage_ends_with_64_and_changes_nothing(arguments: list[str], tmp_path: Path) -> None:
    done = install(tmp_path, *arguments)

    assert done.returncode == 64
    assert list(tmp_path.iterdir()) == []


def slurm_sample(sample: str, agent: str, tmp_path: Path) -> int:
    """The exit code of a sample script where the installed command is the shell script *agent*."""
    command = tmp_path / "readiness-agent"
    command.write_text(f"#!/bin/sh\n{agent}\n")
    command.chmod(0o755)
    script = (DEPLOY / "slurm" / sample).read_text().replace("/usr/local/bin/readiness-agent", str(command))
    return subprocess.run(["sh", "-c", script], capture_output=True, check=False).returncode


@pytest.mark.parametrize(
    ("agent", "code"),
    [("exit 0", 0), ("exit 1", 1), ("exit 2", 0), ("exit 64", 0), ("no-such-python", 0), ("kill -9 $$", 0)],
)
def test_the_prolog_fails_for_a_proven_fault_and_for_nothing_else(agent: str, code: int, tmp_path: Path) -> None:
    assert slurm_sample("prolog.sh", agent, tmp_path) == code


@pytest.mark.parametrize("agent", ["exit 0", "exit 1", "no-such-python", "kill -9 $$"])
def test_the_health_check_never_fails(agent: str, tmp_path: Path) -> None:
    assert slurm_sample("health-check.sh", agent, tmp_path) == 0


@pytest.mark.parametrize("sample", ["prolog.sh", "health-check.sh"])
def test_the_slurm_samples_call_a_command_that_exists(sample: str, pyz: Path) -> None:
    lines = (DEPLOY / "slurm" / sample).read_text().splitlines()
    (arguments,) = (line.split()[1:] for line in lines if line.startswith("/usr/local/bin/"))
    run = subprocess.run([sys.executable, str(pyz), *arguments, "--help"], capture_output=True, check=False)

    assert run.returncode == 0
