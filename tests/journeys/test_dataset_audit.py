"""A dataset and two tokenizers are audited for a run, sound and with one fault each, and after a kill in the middle."""

import hashlib
import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.agents.audits.datasets import (
    Rows,
    id_rows,
    text_rows,
    write_jsonl,
    write_listing,
    write_megatron,
    write_numpy,
)
from tests.agents.audits.tokenizers import edit, trained
from tests.journeys.signoff import Team
from tests.journeys.user import Agent, Portal, wait_for

OF_TOKENS = (
    "data-format", "data-pretokenized", "data-shard-balance", "data-shard-by-sample", "data-integrity",
    "data-duplicates",
)  # fmt: skip
OF_TEXT = ("data-encoding", "data-sensitive", "data-cleaning-loss")
SOUND = dict.fromkeys((*OF_TOKENS, *OF_TEXT), "pass") | {"data-shard-balance": "na", "data-shard-by-sample": "na"}


@pytest.fixture(scope="module")
def team(portal: Portal) -> Team:
    """A cluster, and somebody whose runs they are."""
    made = Team(portal.cluster("datasets", profile="8xh200"))
    made.add("dora", "lead")
    made.cluster.enrol("datasets001")
    return made


@dataclass(frozen=True, slots=True)
class Prepared:
    """One run, and what it is to be trained on: token ids, the text that they were made from, and their listing."""

    team: Team
    slug: str
    agent: Agent
    place: Path

    def write(self, tokens: list[Rows], texts: list[Rows]) -> None:
        write_megatron(self.place / "tokens", tokens, code=8, form="H")
        write_numpy(self.place / "tokens" / "9f-GPTDataset-train-shuffle_index.npy", [2, 0, 3, 1], "<i4")
        write_listing(self.place / "tokens", self.place / "SHA256SUMS")
        write_jsonl(self.place / "text", texts)
        write_jsonl(self.place / "raw", text_rows(), "jsonl.gz")
        (self.place / "patterns").write_text("secret[0-9]+\n")

    def audit(self, *words: str) -> tuple[int, dict[str, str]]:
        """Exit status and verdicts of one ``audit`` that is pushed."""
        done = self.agent(
            "audit", *words, "--run", self.slug, "--portal", self.team.portal.url,
            "--token-file", str(self.place / "token"), "--json",
        )  # fmt: skip
        assert done.stdout, done.stderr
        return done.returncode, {one["item"]: one["verdict"] for one in json.loads(done.stdout)["verdicts"]}

    def both(self) -> dict[str, str]:
        """What the portal says of the tokens and of the text."""
        tokens = [f"--item={item}" for item in OF_TOKENS]
        texts = [f"--item={item}" for item in OF_TEXT]
        _, one = self.audit(
            "dataset", str(self.place / "tokens"), "--data-parallel", "4", "--vocabulary-size", "50000",
            "--listing", str(self.place / "SHA256SUMS"), *tokens,
        )  # fmt: skip
        _, other = self.audit(
            "dataset", str(self.place / "text"), "--patterns", str(self.place / "patterns"),
            "--original", str(self.place / "raw"), "--stage", "quality filter", *texts,
        )  # fmt: skip
        return one | other


@pytest.fixture
def prepared(team: Team, agent: Agent, tmp_path: Path, request: pytest.FixtureRequest) -> Prepared:
    """A run of this test's own."""
    slug = f"dataset-{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"
    start = datetime.now(UTC) + timedelta(days=1)
    body = {
        "cluster": team.cluster.slug, "slug": slug, "owner": team.who("dora"), "nodes": "datasets001", "name": slug,
        "nodes_needed": 1, "world_size": 8, "model_name": "orca-13b", "dataset": "web-v4",
        "planned_start": start.isoformat(), "planned_end": (start + timedelta(days=10)).isoformat(),
    }  # fmt: skip
    made = team.portal.ask("/api/v1/runs", token=team.operator_token, body=body)
    assert made.status == 201, made.text
    (tmp_path / "token").write_text(team.operator_token)
    (tmp_path / "token").chmod(0o600)
    return Prepared(team, slug, agent, tmp_path)


def test_a_sound_dataset_passes_item_by_item(prepared: Prepared) -> None:
    prepared.write(id_rows(), text_rows())

    assert prepared.both() == SOUND


def narrow(tokens: list[Rows], texts: list[Rows]) -> None:
    tokens[1][2]["input_ids"][5] = 50_000


def repeated(tokens: list[Rows], texts: list[Rows]) -> None:
    for place in range(10):
        tokens[3][place]["input_ids"] = tokens[0][place]["input_ids"]


def sensitive(tokens: list[Rows], texts: list[Rows]) -> None:
    texts[0][0]["text"] += " secret99"


def filtered(tokens: list[Rows], texts: list[Rows]) -> None:
    for shard in texts:
        del shard[30:]


PLANTED = {
    "an id beyond the vocabulary": (narrow, "data-integrity"),
    "every sixteenth document twice": (repeated, "data-duplicates"),
    "what must not be trained on": (sensitive, "data-sensitive"),
    "a quarter of the rows lost": (filtered, "data-cleaning-loss"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_fails_its_item_and_no_other(prepared: Prepared, fault: str) -> None:
    plant, item = PLANTED[fault]
    tokens, texts = id_rows(), text_rows()
    plant(tokens, texts)
    prepared.write(tokens, texts)

    assert prepared.both() == SOUND | {item: "fail"}


def torn(place: Path) -> None:
    path = place / "tokens" / "corpus_2_document.bin"
    path.write_bytes(path.read_bytes()[:-2])


def wrong_bytes(place: Path) -> None:
    path = place / "text" / "part-00001.jsonl"
    path.write_bytes(path.read_bytes().replace(b"word1", b"word\xff", 1))


def named_alike(place: Path) -> None:
    (place / "tokens" / "corpus_0_document.bin").write_text('{"text": "not tokens at all"}\n')
    (place / "tokens" / "corpus_0_document.idx").unlink()
    write_listing(place / "tokens", place / "SHA256SUMS")


DAMAGED: dict[str, tuple[Callable[[Path], None], dict[str, str]]] = {
    "a file of tokens that is torn": (
        torn, {"data-integrity": "fail", "data-pretokenized": "unknown", "data-duplicates": "unknown"},
    ),
    "bytes that are no UTF-8": (wrong_bytes, {"data-encoding": "fail"}),
    "text under the name of tokens": (named_alike, {"data-format": "fail", "data-pretokenized": "fail"}),
}  # fmt: skip


@pytest.mark.parametrize("fault", DAMAGED)
def test_damage_fails_what_it_breaks_and_passes_nothing_that_it_hides(prepared: Prepared, fault: str) -> None:
    damage, expected = DAMAGED[fault]
    prepared.write(id_rows(), text_rows())
    damage(prepared.place)

    found = prepared.both()

    assert {item: found[item] for item in expected} == expected


def test_what_was_not_told_is_unknown_and_exit_2(prepared: Prepared) -> None:
    prepared.write(id_rows(), text_rows())

    code, verdicts = prepared.audit("dataset", str(prepared.place / "text"), "--item=data-sensitive")

    assert (code, verdicts) == (2, {"data-sensitive": "unknown"})


def test_tokenizers_of_training_and_inference_are_compared(prepared: Prepared) -> None:
    training = trained(prepared.place / "training")
    inference = Path(shutil.copytree(training, prepared.place / "inference"))
    same = prepared.audit("tokenizer", str(training), str(inference))
    edit(inference / "tokenizer.json", lambda told: told["normalizer"].update(lowercase=False))
    other = prepared.audit("tokenizer", str(training), str(inference))

    assert same == (0, {"tokenizer-parity": "pass", "tokenizer-fast": "pass"})
    assert other == (1, {"tokenizer-parity": "fail", "tokenizer-fast": "pass"})


def test_the_runs_page_tells_that_the_dataset_was_measured(prepared: Prepared) -> None:
    prepared.write(id_rows(), text_rows())
    prepared.both()

    assert "measured the run" in prepared.team.sender("dora").look(f"/runs/{prepared.slug}/").text


def facts_of(agent: Agent, *words: str) -> list[dict[str, Any]]:
    """Facts of an audit that is not pushed."""
    done = agent("audit", "dataset", *words, "--json")
    return list(json.loads(done.stdout)["facts"])


def test_an_audit_that_is_killed_goes_on_where_it_was(agent: Agent, tmp_path: Path) -> None:
    dice = random.Random(6)
    words = [f"{number:x}" for number in range(50_000)]
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    with (corpus / "part-0.jsonl").open("w") as file:
        for _ in range(15_000):
            file.write(json.dumps({"text": " ".join(dice.choices(words, k=500))}) + "\n")
    state = tmp_path / "state"
    options = (str(corpus), "--item=data-duplicates", "--item=data-encoding", "--item=data-format")
    began = agent.start("audit", "dataset", *options, "--state", str(state))
    wait_for("a bookmark", (state / "dataset-audit.json").exists, seconds=120)
    os.kill(began.pid, signal.SIGKILL)
    began.wait()

    resumed = agent("audit", "dataset", *options, "--state", str(state), "--json")

    assert "going on from" in resumed.stderr
    assert json.loads(resumed.stdout)["facts"] == facts_of(agent, *options)
    assert [*state.iterdir()] == []
