"""Uploads to a store on loopback that checks signatures and parts, and fails where it is told to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from readiness_agent.config import Config
from readiness_agent.facts import CouldNotMeasure, ProbeResult
from readiness_agent.offline import object_store
from readiness_agent.offline.bench import Bench
from readiness_agent.offline.object_store import PART, Tally, pooled, upload_and_tell
from readiness_agent.offline.s3 import Address, Credentials, Request, credentials_of, signed_headers
from readiness_agent.source import LiveSource
from tests.agents.offline.s3_server import KEY, SECRET, ObjectStore

EXAMPLE = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    one = ObjectStore()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node whose environment has the store's keys, and that waits no longer than a test should."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setattr(object_store, "FIRST_PAUSE", 0.001)


def upload(store: ObjectStore, place: Path, parts: int = 12, seconds: float = 60.0) -> ProbeResult:
    config = Config(portal="", s3_endpoint=store.url, s3_bucket="checkpoints", s3_prefix="team a")
    return upload_and_tell(Bench(LiveSource(), config, seconds, str(place)), parts)


def facts(result: ProbeResult) -> dict[str, object]:
    return {fact.name: fact.value for fact in result.facts}


def test_a_signature_is_the_one_of_amazons_own_example() -> None:
    request = Request("GET", "/test.txt", headers=(("Range", "bytes=0-9"),))
    at = time.strptime("20130524T000000Z", "%Y%m%dT%H%M%SZ")
    headers = signed_headers(request, Address("https", "examplebucket.s3.amazonaws.com", "us-east-1"), EXAMPLE, at)

    assert headers["Authorization"].endswith("f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")


def test_a_query_is_signed_as_in_amazons_own_example() -> None:
    request = Request("GET", "/", query=(("prefix", "J"), ("max-keys", "2")))
    at = time.strptime("20130524T000000Z", "%Y%m%dT%H%M%SZ")
    headers = signed_headers(request, Address("https", "examplebucket.s3.amazonaws.com", "us-east-1"), EXAMPLE, at)

    assert headers["Authorization"].endswith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")


def test_a_sound_store_takes_all_parts_and_nothing_stays_there(store: ObjectStore, tmp_path: Path) -> None:
    told = facts(upload(store, tmp_path))

    assert told["uploaded"] == store.finished[0] == 12 * PART
    assert (told["failed_share"], told["requests"]) == (0.0, 14)  # begun, twelve parts, finished
    assert (store.uploads, store.objects) == ({}, {})


def test_every_503_counts_though_the_retry_was_taken(store: ObjectStore, tmp_path: Path) -> None:
    failed = {5, 9}  # the first request of all asks for leftovers
    store.fails = lambda number, method: 503 if number in failed and method == "PUT" else None
    told = facts(upload(store, tmp_path))

    assert store.finished == [12 * PART]
    assert told["requests"] == 16
    assert told["failed_share"] == 12.5  # 2 of 16


def test_a_store_that_takes_no_part_is_a_problem_and_gets_its_parts_given_up(
    store: ObjectStore, tmp_path: Path
) -> None:
    store.fails = lambda number, method: 503 if method == "PUT" else None
    result = upload(store, tmp_path, parts=2)

    assert result.problems[0].detail == "the store answered 503 to PUT SlowDown"
    assert facts(result)["failed_share"] > 90  # type: ignore[operator]
    assert store.uploads == {}


def test_a_wrong_key_is_a_problem_and_no_rate(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")

    with pytest.raises(CouldNotMeasure, match="403 to POST SignatureDoesNotMatch"):
        upload(store, tmp_path)


def test_a_short_time_uploads_less_and_says_so(store: ObjectStore, tmp_path: Path) -> None:
    slow: Callable[[int, str], None] = lambda number, method: time.sleep(0.05)  # noqa: E731
    store.fails = slow
    told = facts(upload(store, tmp_path, parts=400, seconds=0.5))

    assert 0 < int(str(told["uploaded"])) < 400 * PART
    assert (store.uploads, store.objects) == ({}, {})


def test_what_an_earlier_run_left_half_uploaded_is_given_up_and_only_that(store: ObjectStore, tmp_path: Path) -> None:
    from readiness_agent.node import hostname

    store.uploads = {"mine": {}, "others": {}}
    store.keys = {"mine": f"team a/readiness-agent/{hostname()}/x", "others": "team a/checkpoint-100"}
    upload(store, tmp_path, parts=1)

    assert set(store.uploads) == {"others"}


def test_requests_of_seven_days_add_up_and_older_ones_are_forgotten(tmp_path: Path) -> None:
    path, tally = str(tmp_path / "memory.json"), Tally()
    for number in range(2000):
        tally.count(number != 0)
    monday = 1_790_000_000.0

    assert pooled(path, tally, monday) == (2000, 1)
    assert pooled(path, tally, monday + 86400) == (4000, 2)
    assert pooled(path, tally, monday + 7.5 * 86400) == (4000, 2)


def test_keys_that_others_can_read_are_not_used(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("[default]\naws_access_key_id = A\naws_secret_access_key = B\n")
    file.chmod(0o644)
    config = Config(portal="", s3_credentials=str(file))

    with pytest.raises(CouldNotMeasure, match="chmod 600"):
        credentials_of(config, {})
    file.chmod(0o600)
    assert credentials_of(config, {}) == Credentials("A", "B")


def test_without_a_store_in_the_configuration_the_item_is_missing(tmp_path: Path) -> None:
    with pytest.raises(CouldNotMeasure, match=r"agent\.json names no s3_endpoint"):
        upload_and_tell(Bench(LiveSource(), Config(portal=""), 10.0, str(tmp_path)), 1)
