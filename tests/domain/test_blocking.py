"""Which questions a row closes."""

import pytest

from checks.domain.blocking import Blocks, blocks
from checks.domain.verdicts import Reason, Verdict
from tests.domain.building import item_of


@pytest.mark.parametrize("raw", ["fail", "unknown"])
@pytest.mark.parametrize("cadence", ["tick", "daily"])
def test_a_bad_blocker_of_a_node_closes_health_and_start(raw: str, cadence: str) -> None:
    assert int(blocks(item_of(cadence=cadence), Verdict(raw), Reason.HUNG)) == 2


@pytest.mark.parametrize("raw", ["pass", "warn", "na"])
def test_nothing_good_closes_anything(raw: str) -> None:
    assert int(blocks(item_of(), Verdict(raw), None)) == 0


@pytest.mark.parametrize("keys", [{"severity": "warning"}, {"shadow": True}])
def test_warnings_and_shadow_close_nothing(keys: dict[str, object]) -> None:
    assert blocks(item_of(**keys), Verdict.FAIL, Reason.CRITERION) is Blocks.NOTHING


@pytest.mark.parametrize(
    "keys", [{"cadence": one} for one in ("offline", "attested", "start", "run")] + [{"scope": "cluster"}]
)
def test_what_is_not_asked_each_tick_or_day_of_a_node_closes_a_start_only(keys: dict[str, object]) -> None:
    assert int(blocks(item_of(**keys), Verdict.FAIL, Reason.CRITERION)) == 1


def test_a_proof_under_load_that_is_missing_closes_a_start_only() -> None:
    assert blocks(item_of(), Verdict.UNKNOWN, Reason.NOT_LOADED) is Blocks.START
    assert blocks(item_of(), Verdict.UNKNOWN, Reason.HUNG) is Blocks.HEALTH_AND_START
