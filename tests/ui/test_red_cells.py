"""Money on every red cell: what waiting costs an hour, by whose price, and what skipping an item has cost others."""

from datetime import datetime
from decimal import Decimal

import pytest

from checks.models import ClusterPrice, Role
from checks.services.costs import price_cluster
from tests.fleet import Fleet, person
from tests.ui.conftest import Sight, seen_by

pytestmark = pytest.mark.django_db
PRICE = "/clusters/helios/price/"
ITEM = "/clusters/helios/items/gpu-pcie-width/"
ON_NODE = "/clusters/helios/nodes/gpu-003/items/gpu-pcie-width/"


@pytest.fixture
def priced(fleet: Fleet, now: datetime) -> Fleet:
    """helios: gpu-003 fails and gpu-004 was never measured, so that 16 GPUs wait, at 6.88 USD an hour each."""
    price_cluster(cluster=fleet.cluster, amount=Decimal("6.88"), reason="contract 17", by=None, now=now)
    return fleet


def test_the_board_says_what_an_hour_costs_and_by_whose_price(priced: Fleet, sight: Sight) -> None:
    """16 x 6.88 = 110.08."""
    board = sight.text("/")

    assert "110 <small>USD an hour</small>" in board
    assert "16 GPUs × 6.88" in board
    assert "contract 17" in board


def test_each_cause_on_the_board_has_its_own_price(priced: Fleet, sight: Sight) -> None:
    """8 x 6.88 = 55.04 for the one node whose GPU lost lanes."""
    stops = sight.text("/").partition('id="stops"')[2].partition("</table>")[0]
    row = stops.partition("gpu-pcie-width")[2].partition("</tr>")[0]

    assert '<td class="num" data-label="USD an hour">55</td>' in row


def test_an_item_says_it_of_the_nodes_that_it_blocks(priced: Fleet, sight: Sight) -> None:
    """gpu-003 fails and gpu-004 is unknown: 16 GPUs. On one node it is 8."""
    assert "<b>110 USD an hour</b>" in sight.text(ITEM)
    assert "<b>55 USD an hour</b>" in sight.text(ON_NODE)


def test_a_node_on_which_it_holds_waits_for_nothing(priced: Fleet, sight: Sight) -> None:
    assert "USD an hour" not in sight.text("/clusters/helios/nodes/gpu-001/items/gpu-pcie-width/")


def test_a_warning_lets_nothing_wait(priced: Fleet, now: datetime, sight: Sight) -> None:
    priced.report("gpu-001", at=now, changed={"persistence-mode": {"gpus_without_persistence": 3}})

    assert "USD an hour" not in sight.text("/clusters/helios/nodes/gpu-001/items/persistence-mode/")


def test_without_a_price_there_is_no_number_and_a_way_to_set_one(fleet: Fleet, sight: Sight) -> None:
    for page in (sight.text("/"), sight.text(ITEM), sight.text(ON_NODE)):
        assert "no price set" in page
        assert "USD an hour" not in page
    lead = seen_by(person("lena", fleet.cluster, Role.LEAD))
    assert f'href="{PRICE}"' in lead.text("/")


def test_what_skipping_it_has_cost_others_is_told_with_source_and_doubt(priced: Fleet, sight: Sight) -> None:
    page = sight.text("/clusters/helios/items/gpu-ecc/")

    assert "91 of 419 interruptions of Llama 3 405B, in 54 days on 2,048 nodes: " in page
    assert "GPU memory (HBM3) (72), GPU SRAM (19)." in page
    assert "https://arxiv.org/abs/2407.21783" in page
    assert "How many of them this item would have spared, nobody published." in page


def test_a_lead_sets_the_price_and_it_counts_from_then_on(fleet: Fleet) -> None:
    lead = seen_by(person("lena", fleet.cluster, Role.LEAD))
    answer = lead.client.post(PRICE, {"amount": "2.10", "reason": "contract 18"})

    assert (answer.status_code, answer["Location"]) == (302, "/costs/prices/#clusters")
    assert "34 <small>USD an hour</small>" in lead.text("/")
    assert "contract 18" in lead.text("/costs/prices/")


@pytest.mark.parametrize(
    ("amount", "reason", "sentence"),
    [
        ("0", "contract", "0 USD a GPU hour is no price"),
        ("-3", "contract", "-3 USD a GPU hour is no price"),
        ("2.10", " ", "This field is required."),
        ("two", "contract", "Enter a number."),
    ],
)
def test_a_price_that_is_none_is_refused_in_a_sentence(fleet: Fleet, amount: str, reason: str, sentence: str) -> None:
    lead = seen_by(person("lena", fleet.cluster, Role.LEAD)).client
    answer = lead.post(PRICE, {"amount": amount, "reason": reason})

    assert answer.status_code in (400, 422)
    assert sentence in answer.content.decode()
    assert not ClusterPrice.objects.exists()
