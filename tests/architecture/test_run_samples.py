"""Samples that ask about a run, held to a portal that listens: with real rows, signatures and starts."""

import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from checks.models import Role, Run, RunStart, Stage, TokenKind
from checks.services.runs import edit_run
from checks.services.tokens import issue_token
from tests.architecture.source_files import ROOT
from tests.architecture.test_samples import script_of
from tests.signed import Signing, a_signable_run

DEPLOY = ROOT / "agents" / "deploy"


@pytest.fixture
def signing(live_server: LiveServer) -> Signing:
    """A run on gpu001 to gpu003, measured just now, that nobody has signed."""
    now = timezone.now()
    signing = a_signable_run(at=now)
    planned = {"planned_start": now + timedelta(days=1), "planned_end": now + timedelta(days=11)}
    edit_run(run=signing.run, changes=planned, by=signing.people[Role.LEAD], reason="", now=now)
    return signing


def token(signing: Signing, kind: TokenKind) -> str:
    return issue_token(kind=kind, clusters=[signing.cluster], created_by=None, now=timezone.now())[1]


def begin(signing: Signing, portal: str, place: Path, *, nodes: str = "gpu[001-002]", partition: str = "train") -> int:
    """What PrologSlurmctld of a job ends with."""
    settings = place / "countersign.env"
    settings.write_text(
        f"PORTAL={portal}\nCLUSTER=helios\nGATE_TOKEN={token(signing, TokenKind.GATE)}\n"
        f"OPERATOR_TOKEN={token(signing, TokenKind.OPERATOR)}\n"
    )
    job = {
        "COUNTERSIGN_ENV": str(settings), "SLURM_JOB_NAME": "run-7", "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NODELIST": nodes, "SLURM_JOB_PARTITION": partition,
    }  # fmt: skip
    script = DEPLOY / "slurm" / "prolog-slurmctld.sh"
    return subprocess.run(["sh", str(script)], env=os.environ | job, check=False, capture_output=True).returncode


def test_a_job_waits_for_signatures_starts_once_and_comes_back(
    signing: Signing, live_server: LiveServer, tmp_path: Path
) -> None:
    ended = [begin(signing, live_server.url, tmp_path)]
    signing.sign_all(at=timezone.now())
    ended += [begin(signing, live_server.url, tmp_path) for _ in range(2)]
    ended.append(begin(signing, live_server.url, tmp_path, nodes="gpu[002-003]"))

    assert ended == [1, 0, 0, 0]
    assert Run.objects.get().stage == Stage.RUNNING
    told = [(start.kind, start.hostnames) for start in RunStart.objects.order_by("id")]
    assert told == [
        ("start", ["gpu001", "gpu002"]), ("restart", ["gpu001", "gpu002"]), ("restart", ["gpu002", "gpu003"]),
    ]  # fmt: skip


def test_a_job_waits_while_the_portal_is_away_and_other_partitions_do_not(signing: Signing, tmp_path: Path) -> None:
    away = "http://127.0.0.1:9"

    assert begin(signing, away, tmp_path) == 1
    assert begin(signing, away, tmp_path, partition="debug") == 0


def test_a_step_of_ci_goes_on_only_while_the_run_may_start(signing: Signing, live_server: LiveServer) -> None:
    environment = os.environ | {
        "PORTAL": live_server.url, "CLUSTER": "helios", "RUN": "run-7", "TOKEN": token(signing, TokenKind.GATE),
    }  # fmt: skip

    def step(**more: str) -> tuple[int, str]:
        script = ["sh", str(DEPLOY / "ci" / "may-start.sh")]
        done = subprocess.run(script, env=environment | more, check=False, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()[0]

    assert step() == (1, "not_ready")
    signing.sign_all(at=timezone.now())
    assert [step(), step(NODES="gpu[001-002]"), step(NODES="gpu009")] == [(0, "ready"), (0, "ready"), (1, "unknown")]
    assert step(PURPOSE="restart") == (1, "not_ready")
    assert step(PORTAL="http://127.0.0.1:9")[0] == 1


def test_kueue_admits_a_waiting_workload_once_its_run_may_start(
    signing: Signing, live_server: LiveServer, tmp_path: Path
) -> None:
    kubectl = tmp_path / "kubectl"  # there is no Kubernetes here: it lists two workloads and prints what it is told
    kubectl.write_text(
        '#!/bin/sh\n[ "$1" = get ] && printf "ml wl-1 run-7 Pending\\nml wl-2 run-8 Pending\\nml wl-3 run-7 Ready\\n"\n'
        '[ "$1" = get ] || echo "$1" "$2" "$3" "$4"\n'
    )
    kubectl.chmod(0o755)
    environment = os.environ | {
        "PORTAL": live_server.url, "CLUSTER": "helios", "TOKEN": token(signing, TokenKind.GATE),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }  # fmt: skip

    def a_minute() -> list[str]:
        script = script_of("kueue-admits-run.yaml")
        done = subprocess.run(["sh", "-c", script], env=environment, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()[1:]

    assert a_minute() == ["run-7 waits", "run-8 waits"]
    signing.sign_all(at=timezone.now())
    assert a_minute() == ["--namespace ml patch workload", "run-8 waits"]
