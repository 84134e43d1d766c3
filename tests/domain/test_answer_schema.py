"""A run's answer is one that the API's schema describes."""

import json
from pathlib import Path

import jsonschema
import pytest

from checks.domain.answers import Answer
from checks.domain.signoff import LayerState, SignState
from checks.domain.verdicts import Layer
from tests.domain.building import NOON
from tests.domain.signing import ALL_SIGNED, HOUR, UUIDS, launch, nodes, restart, row, start

SCHEMA = Path(__file__).resolve().parents[2] / "checks" / "api" / "schema" / "gate.v1.json"
HALF = {**ALL_SIGNED, Layer.PHYSICAL: LayerState(SignState.HALF, 1, (), ("hardware",))}


@pytest.mark.parametrize(
    "answer",
    [
        start(launch()),
        start(launch(nodes(row("gpu002"), named=False)), states=HALF),
        restart(nodes(row("gpu002"))),
        restart(started=None, now=NOON + 100 * HOUR),
    ],
    ids=["ready", "half signed", "restart", "not started"],
)
def test_a_runs_answer_is_as_the_schema_says(answer: Answer) -> None:
    body = json.loads(json.dumps(answer.as_json(",".join)))

    jsonschema.validate(body, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert body["run"] == "run-7"
    assert len(body["signatures"]) == 5
    assert set(body["nodes"]["ready_nodes"].split(",")) <= {*UUIDS, ""}
