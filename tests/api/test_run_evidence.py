"""What an audit found about a run, as it comes in over REST: stored once, judged at once, refused whole."""

import gzip
import hashlib
import json
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.test import Client

from checks.models import Evidence, LedgerEntry, Role, Run, RunEvidence, ScopeState, TokenKind
from checks.selectors.costs import starting_scenario
from checks.services.nodes import retire_node
from checks.services.runs import edit_run
from tests.fleet import Fleet, make_fleet
from tests.lab import HOUR, NOON, bearer
from tests.people import person
from tests.runs import DIGEST, a_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

SCHEMA = json.loads((Path(__file__).parents[2] / "checks/api/schema/run-evidence.v1.json").read_text(encoding="utf-8"))
TEXT = "train.py:12: torch.amp.GradScaler() scales dynamically"
OTHER_DIGEST = "sha256:" + "cd" * 32
GOOD_AMP = {
    "precision": ("fp16", "text"), "scaler": ("dynamic", "text"), "scaler_fits": (True, "bool"),
    "apex_used": (False, "bool"),
}  # fmt: skip


def facts(item: str, **told: tuple[Any, str]) -> list[dict[str, Any]]:
    return [{"item": item, "name": name, "value": value, "unit": unit} for name, (value, unit) in told.items()]


def document(**changes: Any) -> dict[str, Any]:
    """What ``readiness-agent audit config`` sends about a run whose precision is right."""
    return {
        "schema": 1, "evidence_id": str(uuid.uuid4()), "tool": "audit config", "agent_version": "0.1.0",
        "hostname": "login-1", "finished_at": "2026-11-30T11:59:58.000Z", "covered": ["amp-config"],
        "facts": facts("amp-config", **GOOD_AMP), "problems": [],
        "evidence": [{
            "probe": "audit config", "text": TEXT, "truncated": False,
            "sha256": hashlib.sha256(TEXT.encode()).hexdigest(), "items": ["amp-config"],
        }],
        "artefacts": [{"name": "conf/train.yaml", "digest": DIGEST}],
    } | changes  # fmt: skip


@pytest.fixture
def fleet() -> Fleet:
    made = make_fleet(at=NOON - HOUR)
    for name in ("gpu001", "gpu002"):
        made.enrol(name, at=NOON - HOUR)
    return made


@pytest.fixture
def run(fleet: Fleet) -> Run:
    return a_run(fleet.cluster, "gpu[001-002]")


class Sender:
    """Sends evidence about run-7, with an operator's token of its cluster unless another one is named."""

    def __init__(self, client: Client, run: Run) -> None:
        self.client, self.run = client, run
        self.operator = bearer(TokenKind.OPERATOR, run.cluster)

    def send(self, sent: Any, *, token: dict[str, str] | None = None, **headers: str) -> Any:
        body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        return self.client.post(
            f"/api/v1/runs/{self.run.slug}/evidence", body, content_type="application/json",
            headers={**(token or self.operator), **headers},
        )  # fmt: skip


@pytest.fixture
def sender(client: Client, run: Run) -> Sender:
    return Sender(client, run)


def row(item: str = "amp-config") -> ScopeState:
    return ScopeState.objects.get(item=item)


def test_the_document_of_these_tests_is_one_of_the_schema() -> None:
    jsonschema.validate(document(), SCHEMA)


def test_evidence_is_judged_and_settled_at_once(sender: Sender) -> None:
    sent = document()
    response = sender.send(sent)

    assert response.status_code == 202
    assert response.json() == {
        "evidence_id": sent["evidence_id"], "accepted": True, "duplicate": False,
        "verdicts": [{
            "item": "amp-config", "subject": "run-7", "verdict": "pass", "severity": "blocker", "reason": "",
            "detail": "",
        }],
    }  # fmt: skip
    assert (row().raw, row().settled, row().subject) == ("pass", "pass", "run-7")
    assert Evidence.objects.get(pk=row().evidence).text == TEXT


def test_a_missed_criterion_is_a_fail(sender: Sender) -> None:
    told = facts("amp-config", **GOOD_AMP | {"apex_used": (True, "bool")})
    response = sender.send(document(facts=told))

    assert response.json()["verdicts"][0]["verdict"] == "fail"
    assert "apex_used" in row().detail


def test_a_problem_makes_an_item_unknown_and_never_a_pass(sender: Sender) -> None:
    problem = {"item": "amp-config", "kind": "unreadable", "detail": "train.py:3 is no Python"}
    response = sender.send(document(problems=[problem]))

    (told,) = response.json()["verdicts"]
    assert (told["verdict"], told["reason"], told["detail"]) == ("unknown", "unreadable", "train.py:3 is no Python")


def test_an_item_that_is_covered_without_a_word_is_unknown(sender: Sender) -> None:
    response = sender.send(document(facts=[]))

    assert response.json()["verdicts"][0]["verdict"] == "unknown"


def test_the_same_evidence_twice_is_one_piece(sender: Sender) -> None:
    sent = document()
    sender.send(sent)
    again = sender.send(sent)

    assert (again.status_code, again.json()["duplicate"]) == (202, True)
    assert again.json()["verdicts"][0]["verdict"] == "pass"
    assert (RunEvidence.objects.count(), LedgerEntry.objects.filter(what="run_measured").count()) == (1, 1)


def test_an_id_that_another_run_has_used_is_refused(sender: Sender, fleet: Fleet) -> None:
    sent = document()
    sender.send(sent)
    other = Sender(sender.client, a_run(fleet.cluster, "gpu[001-002]", slug="run-8"))
    response = other.send(sent)

    assert (response.status_code, response.json()["code"]) == (409, "evidence_of_another_run")


def test_the_ledger_names_tool_machine_token_and_verdicts(sender: Sender) -> None:
    sender.send(document())
    entry = LedgerEntry.objects.get(what="run_measured")
    key = sender.operator["Authorization"].split("_")[2]

    assert (entry.target, entry.who, entry.data["tool"], entry.data["hostname"], entry.data["token"]) == (
        "run-7", None, "audit config", "login-1", key,
    )  # fmt: skip
    assert entry.data["verdicts"] == {"amp-config": "pass"}


def test_a_file_that_is_not_the_signed_one_proves_nothing(sender: Sender) -> None:
    response = sender.send(document(artefacts=[{"name": "conf/train.yaml", "digest": OTHER_DIGEST}]))

    (told,) = response.json()["verdicts"]
    assert (told["verdict"], told["detail"]) == (
        "unknown", "the audited file is not the signed one: conf/train.yaml",
    )  # fmt: skip


def test_a_file_that_is_not_the_signed_one_condemns_nothing_either(sender: Sender) -> None:
    told = facts("amp-config", **GOOD_AMP | {"apex_used": (True, "bool")})
    response = sender.send(document(facts=told, artefacts=[{"name": "train.yaml", "digest": OTHER_DIGEST}]))

    assert response.json()["verdicts"][0]["verdict"] == "unknown"


def test_files_of_which_none_is_the_runs_own_prove_nothing(sender: Sender) -> None:
    """A clean file under another name would pass for the one that people sign."""
    response = sender.send(document(artefacts=[{"name": "clean.yaml", "digest": OTHER_DIGEST}]))
    [line] = response.json()["verdicts"]

    assert (line["verdict"], line["detail"]) == (
        "unknown", "none of the audited files is among the artefacts that the run names",
    )  # fmt: skip


def test_files_beside_the_runs_own_do_no_harm(sender: Sender) -> None:
    files = [{"name": "conf/train.yaml", "digest": DIGEST}, {"name": "launch.sh", "digest": OTHER_DIGEST}]
    [line] = sender.send(document(artefacts=files)).json()["verdicts"]

    assert line["verdict"] == "pass"


def test_another_artefact_in_the_run_makes_its_evidence_unknown_until_it_is_put_back(
    sender: Sender, run: Run, fleet: Fleet
) -> None:
    sender.send(document())
    lead = person("mei", fleet.cluster, Role.LEAD)
    verdicts = []
    for digest in (OTHER_DIGEST, DIGEST):
        changes = {"artefacts": [{"name": "train.yaml", "digest": digest}]}
        edit_run(run=run, changes=changes, by=lead, reason="", now=NOON)
        verdicts.append(row().raw)

    assert verdicts == ["unknown", "pass"]


def test_what_two_tools_tell_of_an_item_makes_one_verdict(sender: Sender) -> None:
    from_scripts = facts("ops-log-policy", debug_detail=(False, "bool"), nccl_log_separate=(True, "bool"))
    from_log = facts(
        "ops-log-policy", volume_1000_steps=(0.4, "MiB"), steps_without_line=(0, "count"), fields_missing=(0, "count")
    )
    first = sender.send(document(covered=["ops-log-policy"], facts=from_scripts))
    second = sender.send(document(covered=["ops-log-policy"], facts=from_log, tool="audit log"))

    assert [one.json()["verdicts"][0]["verdict"] for one in (first, second)] == ["unknown", "pass"]


def test_a_tools_later_word_replaces_its_earlier_one(sender: Sender) -> None:
    bad = facts("amp-config", **GOOD_AMP | {"apex_used": (True, "bool")})
    sender.send(document(facts=bad))
    sender.send(document())

    assert row().raw == "pass"


def test_an_older_word_that_comes_late_changes_nothing(sender: Sender) -> None:
    bad = facts("amp-config", **GOOD_AMP | {"apex_used": (True, "bool")})
    sender.send(document())
    late = sender.send(document(facts=bad), **{"Report-Age": "600"})

    assert late.json()["verdicts"][0]["verdict"] == "pass"
    assert RunEvidence.objects.count() == 2


def test_evidence_of_a_dataset_is_that_datasets(sender: Sender) -> None:
    told = facts("data-format", format=("parquet", "text"))
    sender.send(document(covered=["data-format"], facts=told, tool="audit dataset"))

    assert row("data-format").subject == "s3://corpus/v3"


def test_two_runs_that_save_to_one_place_are_counted(sender: Sender, fleet: Fleet) -> None:
    told = facts(
        "checkpoint-tag", has_step=(True, "bool"), has_job=(True, "bool"), same_on_ranks=(True, "bool"),
        place=("/ckpt/run/step-{step}", "text"),
    )  # fmt: skip
    other = Sender(sender.client, a_run(fleet.cluster, "gpu[001-002]", slug="run-8"))
    first, second = (
        one.send(document(covered=["checkpoint-tag"], facts=told, artefacts=[])) for one in (sender, other)
    )

    assert [one.json()["verdicts"][0]["verdict"] for one in (first, second)] == ["pass", "fail"]


def test_a_time_limit_is_held_against_the_plan_as_it_stands(sender: Sender, run: Run, fleet: Fleet) -> None:
    told = facts(
        "scheduler-fit", time_limit=(864_000, "seconds"), reservation_covers=(True, "bool"), requeue=(True, "bool")
    )
    sender.send(document(covered=["scheduler-fit"], facts=told))
    before = row("scheduler-fit").raw
    lead = person("mei", fleet.cluster, Role.LEAD)
    changes = {"planned_end": run.planned_end + timedelta(days=1)}
    edit_run(run=run, changes=changes, by=lead, reason="", now=NOON)

    assert (before, row("scheduler-fit").raw) == ("pass", "fail")


def test_a_living_node_of_the_cluster_sends_with_its_own_token(sender: Sender, fleet: Fleet) -> None:
    response = sender.send(document(), token=bearer(TokenKind.AGENT, node=fleet.node("gpu001")))

    assert response.status_code == 202


def test_a_node_that_was_taken_out_sends_nothing_more(sender: Sender, fleet: Fleet) -> None:
    token = bearer(TokenKind.AGENT, node=fleet.node("gpu002"))
    retire_node(node=fleet.node("gpu002"), by=person("lee", fleet.cluster, Role.ADMIN), reason="sold", now=NOON)
    response = sender.send(document(), token=token)

    assert response.status_code in (401, 404)
    assert not RunEvidence.objects.exists()


def test_a_node_of_another_cluster_knows_no_such_run(sender: Sender) -> None:
    other = make_fleet("other", at=NOON - HOUR)
    other.enrol("gpu001", at=NOON - HOUR)
    response = sender.send(document(), token=bearer(TokenKind.AGENT, node=other.node("gpu001")))

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_an_operator_of_another_cluster_knows_no_such_run(sender: Sender) -> None:
    other = make_fleet("other", at=NOON - HOUR)
    response = sender.send(document(), token=bearer(TokenKind.OPERATOR, other.cluster))

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("kind", [TokenKind.GATE, TokenKind.ENROLMENT])
def test_tokens_of_other_kinds_are_refused(sender: Sender, run: Run, kind: TokenKind) -> None:
    token = bearer(kind, cluster=run.cluster) if kind == TokenKind.ENROLMENT else bearer(kind, run.cluster)
    response = sender.send(document(), token=token)

    assert (response.status_code, response.json()["code"]) == (403, "missing_scope")


def test_without_a_token_nobody_is_heard(client: Client, run: Run) -> None:
    response: Any = client.post("/api/v1/runs/run-7/evidence", document(), content_type="application/json")

    assert (response.status_code, response.json()["code"]) == (401, "token_required")


@pytest.mark.parametrize(
    ("changes", "code", "sentence"),
    [
        ({"covered": ["gpu-ecc"]}, "invalid_evidence", "gpu-ecc is not measured for a run"),
        ({"covered": ["ops-runbook"]}, "invalid_evidence", "it is attested"),
        ({"covered": ["image-uniform"]}, "invalid_evidence", "of scope cluster"),
        ({"covered": ["amp-konfig"]}, "invalid_evidence", "There is no item 'amp-konfig'"),
        ({"covered": ["data-format"]}, "invalid_evidence", "speaks of amp-config, which it does not cover"),
        ({"covered": []}, "invalid_body", "$.covered"),
        ({"finished_at": "2026-11-30T11:59:58"}, "invalid_body", "$.finished_at"),
        ({"finished_at": "1970-01-01T00:00:00Z"}, "invalid_evidence", "set the clock"),
        ({"schema": 2}, "unsupported_schema", "$.schema"),
        ({"hostname": "login\u202e1"}, "invalid_evidence", "nobody sees"),
        ({"mood": "good"}, "invalid_body", "mood"),
        ({"artefacts": [{"name": "x", "digest": "md5:1"}]}, "invalid_body", "$.artefacts"),
        ({"facts": facts("amp-config", precision=(None, "text"))}, "invalid_body", "$.facts"),
    ],
)
def test_what_cannot_be_taken_is_refused_whole_with_one_sentence(
    sender: Sender, changes: dict[str, Any], code: str, sentence: str
) -> None:
    response = sender.send(document(**changes))

    assert (response.status_code, response.json()["code"]) == (422, code)
    assert sentence in response.json()["detail"]
    stored = (
        RunEvidence.objects,
        ScopeState.objects,
        Evidence.objects,
        LedgerEntry.objects.filter(what="run_measured"),
    )
    assert not any(rows.exists() for rows in stored)


def test_a_text_under_another_ones_digest_is_refused(sender: Sender) -> None:
    sent = document()
    sent["evidence"][0]["text"] = "all is well"
    response = sender.send(sent)

    assert (response.status_code, response.json()["code"]) == (422, "evidence_mismatch")


def test_a_run_without_a_dataset_has_no_evidence_of_one(client: Client, fleet: Fleet) -> None:
    bare = Sender(client, a_run(fleet.cluster, "gpu[001-002]", slug="bare", dataset=""))
    response = bare.send(document(covered=["data-format"], facts=[]))

    assert response.status_code == 422
    assert "names no dataset" in response.json()["detail"]


def test_gzip_is_taken_as_of_reports(sender: Sender) -> None:
    response = sender.send(gzip.compress(json.dumps(document()).encode()), **{"Content-Encoding": "gzip"})

    assert response.status_code == 202


def test_nothing_is_measured_for_a_run_that_is_over(sender: Sender, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(stage="aborted")
    response = sender.send(document())

    assert (response.status_code, response.json()["code"]) == (409, "run_over")


def test_a_fact_in_another_unit_is_unknown_and_says_so(sender: Sender) -> None:
    told = facts("ops-idle-gpu", time_to_first_step=(5, "count"))
    response = sender.send(document(covered=["ops-idle-gpu"], facts=told))

    (verdict,) = response.json()["verdicts"]
    assert (verdict["verdict"], verdict["reason"]) == ("unknown", "unit_mismatch")


def test_the_age_counts_by_the_senders_own_seconds(sender: Sender) -> None:
    sender.send(document(finished_at="2026-11-20T12:00:00Z"), **{"Report-Age": "90"})

    assert row().observed_at == NOON - timedelta(seconds=90)


def test_a_measured_checkpoint_goes_into_what_the_run_costs(sender: Sender, run: Run) -> None:
    """171.363 GiB are 184.0 GB; 70 B parameters at 14 bytes would be 980."""
    assert starting_scenario(run).checkpoint_gb is None
    sent = document(
        tool="audit checkpoint", covered=["checkpoint-space"], evidence=[], artefacts=[],
        facts=facts("checkpoint-space", checkpoint_size=(171.363, "GiB"), checkpoints=(4, "count")),
    )  # fmt: skip
    assert sender.send(sent).status_code == 202

    assert float(starting_scenario(run).checkpoint_gb or 0) == pytest.approx(184.0, abs=0.001)
