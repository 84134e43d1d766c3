"""What is installed in a training environment, where it came from, and what its PyTorch was built with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.distributions import (
    Distribution,
    Nccl,
    built_with,
    digest_of,
    installed_nccl,
    is_older,
    is_pinned,
    origin_of,
    parse_listing,
)

COMMIT = "3f0c9a41d2b7e5f6089c1a2b3c4d5e6f70819253"
SHA256 = "9b2e5c3f1a7d40c68f3e2b1a09d8c7b6a5f4e3d2c1b0a9f8e7d6c5b4a3928170"
GIT = {"url": "https://git.example.org/DeepSpeed.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}


def package(name: str, version: str, direct_url: Any = None, requires: Any = ()) -> dict[str, Any]:
    return {"name": name, "version": version, "direct_url": direct_url, "requires": list(requires)}


def listing(*packages: dict[str, Any], python: str = "3.11.9") -> str:
    return json.dumps({"python": python, "distributions": packages})


def distribution(direct_url: Any) -> Distribution:
    return Distribution("deepspeed", "0.14.2", direct_url, ())


def test_a_whole_commit_pins_a_library() -> None:
    assert origin_of(distribution(GIT)) == f"git {COMMIT}"
    assert is_pinned(distribution(GIT))


@pytest.mark.parametrize("commit", [COMMIT[:7], COMMIT.upper(), "v0.14.2", None, ["x"]])
def test_anything_short_of_a_whole_commit_does_not(commit: object) -> None:
    assert not is_pinned(distribution({"url": "x", "vcs_info": {"vcs": "git", "commit_id": commit}}))


@pytest.mark.parametrize("info", [{"hash": f"sha256={SHA256}"}, {"hashes": {"sha256": SHA256}}])
def test_an_archive_with_its_sha256_pins_a_library(info: dict[str, Any]) -> None:
    assert is_pinned(distribution({"url": "file:///x.whl", "archive_info": info}))
    assert origin_of(distribution({"url": "file:///x.whl", "archive_info": info})) == f"archive sha256:{SHA256}"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        (None, "index"),
        ({"url": "file:///x.whl", "archive_info": {}}, "archive"),
        ({"url": "file:///x.whl", "archive_info": {"hash": "md5=0123"}}, "archive"),
        ({"url": "file:///src", "dir_info": {"editable": True}}, "directory"),
    ],
)
def test_a_version_number_or_a_working_tree_pins_nothing(url: Any, origin: str) -> None:
    assert origin_of(distribution(url)) == origin
    assert not is_pinned(distribution(url))


def test_the_set_is_one_value_whatever_the_order_and_the_spelling() -> None:
    one = parse_listing(listing(package("Flash_Attn", "2.5.8"), package("torch", "2.3.0")))
    other = parse_listing(listing(package("torch", "2.3.0"), package("flash-attn", "2.5.8")))

    assert digest_of(one) == digest_of(other)
    assert digest_of(one).startswith("sha256:")


@pytest.mark.parametrize(
    "other",
    [
        listing(package("deepspeed", "0.14.3", GIT)),
        listing(package("deepspeed", "0.14.2")),
        listing(package("deepspeed", "0.14.2", GIT), python="3.11.8"),
        listing(package("deepspeed", "0.14.2", GIT), package("einops", "0.8.0")),
    ],
)
def test_another_version_origin_interpreter_or_package_is_another_set(other: str) -> None:
    assert digest_of(parse_listing(other)) != digest_of(parse_listing(listing(package("deepspeed", "0.14.2", GIT))))


def test_of_two_with_one_name_the_first_on_the_path_counts() -> None:
    found = parse_listing(listing(package("torch", "2.3.0"), package("torch", "2.1.0")))

    assert [one.version for one in found.distributions] == ["2.3.0"]


def test_pytorch_tells_in_its_requirements_which_nccl_and_cuda_it_was_built_with() -> None:
    requires = [
        "filelock",
        'nvidia-cuda-runtime-cu12==12.1.105 ; platform_system == "Linux"',
        "nvidia-nccl-cu12==2.20.5",
    ]

    assert built_with(parse_listing(listing(package("torch", "2.3.0", None, requires)))) == Nccl("2.20.5", 12)


def test_a_local_version_tells_the_cuda_where_requirements_do_not() -> None:
    assert built_with(parse_listing(listing(package("torch", "2.11.0+cu130")))) == Nccl(None, 13)


def test_an_environment_without_pytorch_was_built_with_nothing() -> None:
    with pytest.raises(Unreadable, match="PyTorch"):
        built_with(parse_listing(listing(package("jax", "0.4.30"))))


def test_the_installed_nccl_is_the_wheel_of_that_name() -> None:
    found = parse_listing(listing(package("nvidia-nccl-cu12", "2.21.5"), package("nvidia-cudnn-cu12", "9.1.0.70")))

    assert installed_nccl(found) == Nccl("2.21.5", 12)


def test_releases_compare_as_numbers() -> None:
    assert is_older("2.9.9", "2.20.5")
    assert not is_older("2.20.5", "2.20.5")
    assert not is_older("2.21", "2.20.5")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"python": "3"}', listing({"name": "x"}), '{"python":"3","distributions":7}']
)
def test_anything_but_a_listing_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_listing(text)
