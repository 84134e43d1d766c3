"""The environment that jobs train in: packages through its own interpreter, image, and NCCL."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.facts import DENIED, ERROR, EVERY_SUBJECT, MISSING, CouldNotMeasure, ProbeResult
from readiness_agent.parsers.distributions import parse_listing
from readiness_agent.parsers.nccl import banner_in, nccl_paths, parse_torch_answer
from readiness_agent.probes.nccl import ASK_TORCH, RANKS, SYSTEM_LIBRARIES
from readiness_agent.probes.training import LIST_DISTRIBUTIONS, TRAINING
from readiness_agent.source import CommandResult, FileStat, Json, LiveSource, ProbeContext
from tests.agents.parsers.inputs import shared
from tests.agents.parsers.test_distributions import COMMIT, GIT, listing, package
from tests.agents.probes.fake_source import FakeSource, ended, problems, values

PYTHON = "/opt/train/venv/bin/python"
CONTEXT = ProbeContext(job_user="train", training_python=PYTHON)
DIGEST = "sha256:" + "4c1d" * 16
NOBODY_RUNS: Json = {"running": False, "copies": 0, "paths": []}
LOADED = "/opt/train/venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2"
RANK: dict[str, Json] = {"running": True, "copies": 1, "paths": [LOADED], "version": "2.20.5", "cuda_major": 12}
TORCH = package("torch", "2.3.0", None, ["nvidia-nccl-cu12==2.20.5", "nvidia-cuda-runtime-cu12==12.1.105"])
WHEEL = package("nvidia-nccl-cu12", "2.20.5")
AS_1000 = "setpriv --reuid=1000 --regid=1000 --groups=1000,27 --inh-caps=-all --no-new-privs"


class Node(FakeSource):
    """A node whose environment lies below /opt/train/venv and belongs to *owner*."""

    def __init__(self, *args: Any, owner: int = 1000, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.owner = owner

    def stat(self, path: str) -> FileStat:
        return FileStat(0o40755, 4096, self.owner, 0.0)


def node(
    packages: str | CommandResult, ranks: Json = NOBODY_RUNS, agent: int = 0, owner: int = 1000, prefix: str = AS_1000,
    **commands: str | CommandResult,
) -> Node:  # fmt: skip
    script = f"{prefix} {PYTHON} -I -S -c {LIST_DISTRIBUTIONS}".lstrip()
    torch = f"{prefix} {PYTHON} -I -c {ASK_TORCH}".lstrip()
    said: dict[str, Any] = {script: packages, **commands}
    if "torch" in said:
        said[torch] = said.pop("torch")
    calls: dict[str, Json | CouldNotMeasure] = {
        "who measures": agent, f"groups of {owner}": [owner, 27], RANKS: ranks,
        "account train": {"uid": 1001, "gid": 1001, "groups": ["train"], "gids": [1001], "agent_uid": agent},
    }  # fmt: skip
    return Node({}, said, calls, owner=owner)


def measure(source: FakeSource, context: ProbeContext = CONTEXT) -> ProbeResult:
    return TRAINING.run(source, context)


def test_a_library_from_a_whole_commit_is_pinned() -> None:
    result = measure(node(listing(TORCH, package("deepspeed", "0.14.2+3f0c9a4", GIT))))

    assert values(result, "trainer-lib-pinned") == {
        "unpinned": 0, "origins": f"deepspeed 0.14.2+3f0c9a4 git {COMMIT}",
    }  # fmt: skip


def test_libraries_that_only_a_version_number_names_are_counted() -> None:
    result = measure(node(listing(package("deepspeed", "0.14.2"), package("Megatron.Core", "0.7.0"))))

    assert values(result, "trainer-lib-pinned") == {
        "unpinned": 2, "origins": "deepspeed 0.14.2 index, megatron-core 0.7.0 index",
    }  # fmt: skip


def test_an_environment_without_such_a_library_has_nothing_to_pin() -> None:
    assert values(measure(node(listing(TORCH))), "trainer-lib-pinned") == {"unpinned": 0, "origins": "none"}


def test_the_set_of_packages_is_the_hash_of_its_names_versions_and_origins() -> None:
    lines = f"python 3.11.9\ndeepspeed==0.14.2 git {COMMIT}\ntorch==2.3.0 index"

    facts = values(measure(node(listing(TORCH, package("deepspeed", "0.14.2", GIT)))), "python-env-uniform")

    assert facts == {"environment": "sha256:" + hashlib.sha256(lines.encode()).hexdigest()}


def test_a_secret_in_an_address_stays_on_the_node() -> None:
    url = {"url": "https://user:hunter2@git.example.org/x.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}

    assert "hunter2" not in repr(measure(node(listing(package("deepspeed", "0.14.2", url)))))


def test_the_interpreter_runs_as_the_owner_of_its_environment_and_never_as_root() -> None:
    source = node(listing(TORCH))

    measure(source)

    assert [one for one in source.asked if PYTHON in one and not one.startswith("setpriv --reuid=1000 ")] == []


def test_an_environment_of_root_is_asked_as_the_user_who_trains() -> None:
    prefix = "setpriv --reuid=1001 --regid=1001 --groups=1001,1001 --inh-caps=-all --no-new-privs"

    assert values(measure(node(listing(TORCH), owner=0, prefix=prefix)), "python-env-uniform") != {}


def test_an_environment_of_root_is_asked_as_nobody_where_no_one_trains() -> None:
    prefix = "setpriv --reuid=65534 --regid=65534 --groups=65534 --inh-caps=-all --no-new-privs"

    result = measure(node(listing(TORCH), owner=0, prefix=prefix), ProbeContext(training_python=PYTHON))

    assert values(result, "python-env-uniform") != {}


def test_an_agent_without_root_does_not_run_what_another_user_owns() -> None:
    source = node(listing(TORCH), agent=990)

    result = measure(source)

    assert problems(result, "python-env-uniform") == [(EVERY_SUBJECT, DENIED)]
    assert [one for one in source.asked if PYTHON in one] == []


def test_an_agent_that_owns_the_environment_asks_it_as_itself() -> None:
    assert values(measure(node(listing(TORCH), agent=1000, prefix="")), "python-env-uniform") != {}


def test_without_a_configured_interpreter_the_packages_are_missing() -> None:
    result = measure(node(listing(TORCH)), ProbeContext())

    for item in ("trainer-lib-pinned", "python-env-uniform", "nccl-cuda-match", "image-uniform"):
        assert problems(result, item) == [(EVERY_SUBJECT, MISSING)]


def test_an_interpreter_that_fails_is_an_error_with_its_last_words() -> None:
    result = measure(node(ended(exit_code=1, stderr="Traceback\nImportError: no sysconfig\n")))

    assert problems(result, "trainer-lib-pinned") == [(EVERY_SUBJECT, ERROR)]
    assert "ImportError: no sysconfig" in next(
        one.detail for one in result.problems if one.item == "trainer-lib-pinned"
    )


def test_a_relative_interpreter_is_refused() -> None:
    result = measure(node(listing(TORCH)), ProbeContext(training_python="python3"))

    assert problems(result, "python-env-uniform") == [(EVERY_SUBJECT, ERROR)]


def test_the_script_lists_what_this_interpreter_has_installed() -> None:
    done = LiveSource().run([sys.executable, "-I", "-S", "-c", LIST_DISTRIBUTIONS], 20.0)

    found = parse_listing(done.stdout)
    installed = found.find("pytest")
    assert installed is not None
    assert installed.version == importlib.metadata.version("pytest")
    assert found.python == sys.version.split()[0]


def test_the_script_executes_nothing_of_the_environment(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (packages / "evil-1.0.dist-info").mkdir(parents=True)
    (packages / "evil-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (packages / "evil.pth").write_text(f"import os; os.mkdir({str(tmp_path / 'executed')!r})\n")
    (tmp_path / "pyvenv.cfg").write_text(
        f"home = {Path(sys.base_prefix) / 'bin'}\ninclude-system-site-packages = false\n"
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(Path(sys.executable).resolve())

    done = LiveSource().run([str(tmp_path / "bin" / "python"), "-I", "-S", "-c", LIST_DISTRIBUTIONS], 20.0)

    assert [one.name for one in parse_listing(done.stdout).distributions] == ["evil"]
    assert not (tmp_path / "executed").exists()


# The image


IMAGE = ProbeContext(training_image="registry.example.org/ml/train:24.06")
DOCKER = "docker image inspect registry.example.org/ml/train:24.06"
INSPECTED = json.dumps([{
    "Id": "sha256:" + "ab" * 32,
    "RepoDigests": ["mirror.example.org/other@sha256:" + "00" * 32, f"registry.example.org/ml/train@{DIGEST}"],
}])  # fmt: skip


def with_image(**commands: str | CommandResult) -> FakeSource:
    told = {name: answer for name, answer in commands.items() if answer is not None}
    names = {"docker": DOCKER, "crictl": DOCKER.replace("docker image inspect", "crictl inspecti -o json")}
    return FakeSource({}, {names[name]: answer for name, answer in told.items()}, {RANKS: NOBODY_RUNS})


def test_an_image_is_known_by_the_digest_of_its_own_repository() -> None:
    assert values(measure(with_image(docker=INSPECTED), IMAGE), "image-uniform") == {
        "image": "registry.example.org/ml/train:24.06", "present": True, "digest": DIGEST,
    }  # fmt: skip


def test_containerd_says_the_same_in_its_own_words() -> None:
    said = json.dumps(
        {"status": {"id": "sha256:" + "ab" * 32, "repoDigests": [f"registry.example.org/ml/train@{DIGEST}"]}}
    )

    assert values(measure(with_image(crictl=said), IMAGE), "image-uniform")["digest"] == DIGEST


def test_an_image_that_was_built_here_is_known_by_its_configuration() -> None:
    said = json.dumps([{"Id": "sha256:" + "ab" * 32, "RepoDigests": []}])

    assert values(measure(with_image(docker=said), IMAGE), "image-uniform")["digest"] == "sha256:" + "ab" * 32


def test_an_image_that_is_not_here_is_not_present_and_has_no_digest() -> None:
    absent = ended(exit_code=1, stdout="[]\n", stderr="Error: No such image: registry.example.org/ml/train:24.06\n")

    assert values(measure(with_image(docker=absent), IMAGE), "image-uniform") == {
        "image": "registry.example.org/ml/train:24.06", "present": False,
    }  # fmt: skip


def test_an_engine_that_is_not_running_does_not_make_an_image_absent() -> None:
    away = ended(exit_code=1, stderr="Cannot connect to the Docker daemon at unix:///var/run/docker.sock.\n")

    result = measure(with_image(docker=away), IMAGE)

    assert problems(result, "image-uniform") == [(EVERY_SUBJECT, ERROR)]
    assert values(result, "image-uniform") == {}


def test_a_node_without_a_container_engine_is_missing_it() -> None:
    assert problems(measure(with_image(), IMAGE), "image-uniform") == [(EVERY_SUBJECT, MISSING)]


def test_a_library_inside_an_image_is_pinned_by_the_digest_of_the_image() -> None:
    result = measure(with_image(docker=INSPECTED), IMAGE)

    assert values(result, "trainer-lib-pinned") == {"unpinned": 0, "origins": f"image {DIGEST}"}
    assert values(result, "python-env-uniform") == {"environment": f"image {DIGEST}"}


def test_an_image_named_by_digest_is_that_one() -> None:
    named = f"registry.example.org/ml/train@{DIGEST}"
    source = FakeSource({}, {f"docker image inspect {named}": INSPECTED}, {RANKS: NOBODY_RUNS})

    assert values(measure(source, ProbeContext(training_image=named)), "image-uniform")["digest"] == DIGEST


def test_a_name_that_is_an_option_is_no_image() -> None:
    source = with_image(docker=INSPECTED)

    assert problems(measure(source, ProbeContext(training_image="--help")), "image-uniform") == [(EVERY_SUBJECT, ERROR)]
    assert not any("docker" in one for one in source.asked)


# NCCL


def test_the_nccl_of_a_running_rank_counts() -> None:
    assert values(measure(node(listing(TORCH, WHEEL), {**RANK, "version": "2.21.5"})), "nccl-cuda-match") == {
        "loaded": "2.21.5", "built_with": "2.20.5", "older_than_built": False, "cuda_major_equal": True,
    }  # fmt: skip


def test_an_nccl_that_is_older_than_pytorch_expects_and_for_another_cuda_is_told_so() -> None:
    older: Json = {**RANK, "version": "2.18.1", "cuda_major": 11}

    facts = values(measure(node(listing(TORCH, WHEEL), older)), "nccl-cuda-match")

    assert (facts["older_than_built"], facts["cuda_major_equal"]) == (True, False)


def test_without_a_job_the_environments_own_wheel_is_what_would_be_loaded() -> None:
    source = node(listing(TORCH, WHEEL))

    assert values(measure(source), "nccl-cuda-match")["loaded"] == "2.20.5"
    assert not any(ASK_TORCH in one for one in source.asked)  # the metadata said it all


def test_pytorch_is_imported_only_where_its_metadata_do_not_tell() -> None:
    source = node(listing(package("torch", "2.3.0a0+ebedce2")), torch='[[2, 20, 5], "12.4"]\n')

    assert values(measure(source), "nccl-cuda-match") == {
        "loaded": "2.20.5", "built_with": "2.20.5", "older_than_built": False, "cuda_major_equal": True,
    }  # fmt: skip


def test_a_pytorch_that_cannot_be_imported_leaves_its_nccl_unknown() -> None:
    failed = ended(exit_code=1, stderr="OSError: libcudart.so.12: cannot open shared object file\n")

    result = measure(node(listing(package("torch", "2.3.0a0")), torch=failed))

    assert problems(result, "nccl-cuda-match") == [(EVERY_SUBJECT, ERROR)]


def test_two_loaded_copies_are_two_and_installed_ones_are_information() -> None:
    system = SYSTEM_LIBRARIES[0].replace("*", "2.18.1")
    two: Json = {"running": True, "copies": 2, "paths": ["/venv/nvidia/nccl/lib/libnccl.so.2", system]}
    source = node(listing(TORCH, WHEEL), two)
    source.files[system] = ""

    assert values(measure(source), "nccl-no-system") == {"installed_copies": 2, "loaded_copies": 2}


def test_an_installed_copy_alone_proves_nothing_while_no_job_was_seen() -> None:
    result = measure(node(listing(TORCH, WHEEL)))

    assert values(result, "nccl-no-system") == {"installed_copies": 1}
    assert problems(result, "nccl-no-system") == [(EVERY_SUBJECT, MISSING)]


def test_the_ranks_of_a_real_node_had_one_nccl_loaded() -> None:
    maps = json.loads(shared("captures/h200x2-burn/commands/trainenv"))["maps"]

    assert nccl_paths(f"7f00-7f01 r-xp 0 00:00 1 {path}\n" for path in maps) == [
        "/opt/train/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2"
    ]


def test_a_plugin_of_nccl_is_no_second_copy_and_a_replaced_file_is_the_same_one() -> None:
    lines = [
        "7f-80 r-xp 00000000 08:01 7 /opt/lib/libnccl.so.2\n",
        "7f-80 r--p 00001000 08:01 7 /opt/lib/libnccl.so.2 (deleted)\n",
        "7f-80 r-xp 00000000 08:01 8 /opt/hpcx/lib/libnccl-net.so\n",
        "7f-80 r-xp 00000000 08:01 9 /opt/hpcx/lib/libnccl-tuner.so\n",
    ]

    assert nccl_paths(lines) == ["/opt/lib/libnccl.so.2"]


def test_a_library_names_its_own_build() -> None:
    found = banner_in(b"\0\0NCCL version 2.20.5+cuda12.4\0")

    assert found is not None
    assert (found.version, found.cuda_major) == ("2.20.5", 12)
    assert banner_in(b"NCCL version %d.%d.%d%s+cuda%d.%d") is None


@pytest.mark.parametrize(
    ("said", "version"), [("[[2, 20, 5], null]", "2.20.5"), ("[2708, null]", "2.7.8"), ("[21005, null]", "2.10.5")]
)
def test_older_pytorch_tells_its_nccl_as_one_number(said: str, version: str) -> None:
    assert parse_torch_answer(f"a warning of a plugin\n{said}\n").version == version


def test_a_library_in_use_is_read_in_pieces_to_its_words(tmp_path: Path) -> None:
    from readiness_agent.probes.nccl import PIECE, _build_of

    library = tmp_path / "libnccl.so.2"
    library.write_bytes(b"\x7fELF" + b"\0" * (PIECE - 14) + b"NCCL version 2.21.5+cuda12.4\0" + b"\0" * PIECE)

    found = _build_of(str(library))

    assert found is not None
    assert (found.version, found.cuda_major) == ("2.21.5", 12)
