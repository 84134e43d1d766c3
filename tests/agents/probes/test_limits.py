"""Limits of the training user: in a running job, in limits.d, or in the unit that starts jobs."""

from __future__ import annotations

from readiness_agent.facts import EVERY_SUBJECT, MISSING, NOT_CAPTURED
from readiness_agent.probes.limits import LIMITS
from readiness_agent.source import JOB_LIMITS, ProbeContext
from tests.agents.parsers.inputs import shared
from tests.agents.probes.fake_source import FakeSource, problems, values

ACCOUNT = {"uid": 1001, "gid": 1001, "groups": ["trainer"]}
SLURMD = "systemctl show -p LoadState,LimitNOFILE,LimitNOFILESoft,LimitMEMLOCK,LimitMEMLOCKSoft slurmd.service"


def table(nofile: str, memlock: str) -> str:
    return (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        f"Max open files            {nofile} {nofile} files     \n"
        f"Max locked memory         {memlock} {memlock} bytes     \n"
    )


def test_the_limits_of_a_captured_job_are_those_of_the_job() -> None:
    source = FakeSource({JOB_LIMITS: shared("captures/h200x2-burn/files/job.limits")}, absent=NOT_CAPTURED)

    result = LIMITS.run(source, ProbeContext())

    assert values(result, "ulimit-nofile") == {"soft": 20000, "hard": 20000, "context": "job"}
    assert values(result, "ulimit-memlock") == {"soft": "unlimited", "hard": "unlimited", "context": "job"}


def test_of_several_processes_of_jobs_the_lowest_limit_counts() -> None:
    files = {"/proc/7/limits": table("1048576", "unlimited"), "/proc/9/limits": table("1024", "65536")}
    source = FakeSource(files, calls={"jobs": [{"pid": 7, "job": "slurm 1"}, {"pid": 9, "job": "slurm 1"}]})

    result = LIMITS.run(source, ProbeContext())

    assert values(result, "ulimit-nofile")["soft"] == 1024
    assert values(result, "ulimit-memlock")["soft"] == 65536


def test_a_job_that_has_just_ended_is_passed_over() -> None:
    source = FakeSource({"/proc/9/limits": table("4096", "unlimited")},
                        calls={"jobs": [{"pid": 7, "job": "slurm 1"}, {"pid": 9, "job": "slurm 1"}]})  # fmt: skip

    assert values(LIMITS.run(source, ProbeContext()), "ulimit-nofile")["soft"] == 4096


def test_without_a_job_the_files_say_what_the_training_user_will_get() -> None:
    files = {
        "/etc/security/limits.conf": "* - nofile 1024\n",
        "/etc/security/limits.d/90-training.conf": "trainer - nofile 1048576\ntrainer - memlock unlimited\n",
    }
    source = FakeSource(files, calls={"jobs": [], "account trainer": ACCOUNT})

    result = LIMITS.run(source, ProbeContext(job_user="trainer"))

    assert values(result, "ulimit-nofile") == {"soft": 1048576, "hard": 1048576, "context": "limits.d"}
    assert values(result, "ulimit-memlock") == {"soft": "unlimited", "hard": "unlimited", "context": "limits.d"}


def test_the_unit_that_starts_jobs_is_the_last_resort() -> None:
    text = (
        "LoadState=loaded\nLimitNOFILE=1048576\nLimitNOFILESoft=1048576\n"
        "LimitMEMLOCK=infinity\nLimitMEMLOCKSoft=infinity\n"
    )
    source = FakeSource(commands={SLURMD: text}, calls={"jobs": []})

    result = LIMITS.run(source, ProbeContext())

    assert values(result, "ulimit-memlock") == {"soft": "unlimited", "hard": "unlimited", "context": "unit"}


def test_what_limits_d_leaves_open_comes_from_the_unit() -> None:
    text = "LoadState=loaded\nLimitNOFILE=9\nLimitNOFILESoft=9\nLimitMEMLOCK=infinity\nLimitMEMLOCKSoft=infinity\n"
    source = FakeSource(
        {"/etc/security/limits.conf": "* - nofile 1048576\n"},
        {SLURMD: text},
        {"jobs": [], "account trainer": ACCOUNT},
    )

    result = LIMITS.run(source, ProbeContext(job_user="trainer"))

    assert values(result, "ulimit-nofile")["context"] == "limits.d"
    assert values(result, "ulimit-memlock")["context"] == "unit"


def test_without_job_user_and_unit_no_job_was_seen() -> None:
    result = LIMITS.run(FakeSource(calls={"jobs": []}), ProbeContext())

    assert result.facts == ()
    assert problems(result, "ulimit-nofile") == [(EVERY_SUBJECT, MISSING)]
    assert "no job seen" in result.problems[0].detail


def test_a_capture_without_any_of_it_is_not_captured() -> None:
    result = LIMITS.run(FakeSource(absent=NOT_CAPTURED), ProbeContext())

    assert problems(result, "ulimit-memlock") == [(EVERY_SUBJECT, NOT_CAPTURED)]


def test_the_agents_own_limits_prove_nothing() -> None:
    source = FakeSource({"/proc/self/limits": table("1048576", "unlimited")}, calls={"jobs": []})

    assert LIMITS.run(source, ProbeContext()).facts == ()
