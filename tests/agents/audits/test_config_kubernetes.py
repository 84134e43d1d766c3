"""What ``audit config`` reads of a Kubernetes job: its time limit, and whether it comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.audits.configs import facts, problems, written

ITEM = "scheduler-fit"
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: orca-13b}
spec:
  runPolicy:
    activeDeadlineSeconds: 1209600  # 14 days
    backoffLimit: 3
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      restartPolicy: OnFailure
"""


def told(place: Path, text: str) -> dict[str, object]:
    found = facts(written(place, job_yaml=text))
    return {name: value for (item, name), value in found.items() if item == ITEM}


def test_a_job_says_how_long_it_may_run_and_that_it_comes_back(tmp_path: Path) -> None:
    assert told(tmp_path, JOB) == {"time_limit": 1_209_600, "requeue": True, "reservation_covers": True}


def test_a_job_without_a_deadline_has_none(tmp_path: Path) -> None:
    text = JOB.replace("    activeDeadlineSeconds: 1209600  # 14 days\n", "")

    assert told(tmp_path, text)["time_limit"] == 10 * 365 * 86_400


def test_the_shortest_deadline_counts(tmp_path: Path) -> None:
    assert told(tmp_path, JOB + "---\nkind: Job\nspec:\n  activeDeadlineSeconds: 3600\n")["time_limit"] == 3600


def test_a_job_that_is_never_tried_again_does_not_come_back(tmp_path: Path) -> None:
    text = JOB.replace("backoffLimit: 3", "backoffLimit: 0").replace("OnFailure", "Never")

    assert told(tmp_path, text)["requeue"] is False


@pytest.mark.parametrize("policy", ["OnFailure", "Always", "ExitCode"])
def test_no_policy_of_its_pods_brings_a_job_without_a_second_try_back(tmp_path: Path, policy: str) -> None:
    text = JOB.replace("backoffLimit: 3", "backoffLimit: 0").replace("OnFailure", policy)

    assert told(tmp_path, text)["requeue"] is False


@pytest.mark.parametrize(
    "line",
    [
        "  runPolicy: {activeDeadlineSeconds: 3600, backoffLimit: 0}\n",
        '  runPolicy: {"backoffLimit": 0, "activeDeadlineSeconds": 3600}\n',
        "  'backoffLimit': 0\n  \"activeDeadlineSeconds\" : 3600 # an hour\n",
    ],
)
def test_the_other_styles_of_yaml_are_read_as_well(tmp_path: Path, line: str) -> None:
    found = told(tmp_path, f"kind: Job\nspec:\n{line}")

    assert (found["time_limit"], found["requeue"]) == (3600, False)


def test_what_a_template_fills_in_is_unknown_with_its_line(tmp_path: Path) -> None:
    result = written(tmp_path, job_yaml=JOB.replace("1209600", "{{ .Values.deadline }}"))

    assert (ITEM, "time_limit") not in facts(result)
    assert problems(result, ITEM) == [
        "job.yaml:6: activeDeadlineSeconds is {{ .Values.deadline }}, which no file tells"
    ]


def test_what_is_commented_out_says_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, JOB.replace("    active", "    # active"))["time_limit"] == 10 * 365 * 86_400


@pytest.mark.parametrize("kind", ["Service", "ConfigMap", "Deployment"])
def test_other_manifests_are_passed_over(tmp_path: Path, kind: str) -> None:
    result = written(tmp_path, other_yaml=JOB.replace("PyTorchJob", kind), train_py="import torch\n")

    assert ITEM not in result.covered
