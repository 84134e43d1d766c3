"""A slice of ``python -m tests.fuzz``, the same one each time: damage deceives no parser."""

from __future__ import annotations

import random

import pytest

from tests.fuzz import MUTATIONS, Case, DeceivedError, Judge, check_values, fuzz, load_cases

SLICE = 3000


@pytest.mark.skipif(not load_cases(), reason="../shared is not here")
def test_three_thousand_damaged_outputs_are_answered_and_none_passes_for_being_damaged() -> None:
    done, wrong = fuzz(load_cases(), SLICE, seed=20261129)

    assert wrong == []
    assert done.total() == SLICE


@pytest.mark.skipif(not load_cases(), reason="../shared is not here")
def test_every_kind_of_output_takes_part() -> None:
    done, _ = fuzz(load_cases(), 1500, seed=7)

    assert done.keys() >= {case.kind for case in load_cases()} - {"lspci -vv"}


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mutation_changes_a_text_of_many_lines(name: str) -> None:
    text = "".join(f"line {place}, 1.5 of 2 cells, more here\n" for place in range(40))

    changed = {MUTATIONS[name](random.Random(seed), text) for seed in range(30)}

    assert changed - {text}


def test_what_a_report_cannot_carry_is_found_out() -> None:
    with pytest.raises(DeceivedError, match="rate"):
        check_values([{"name": "rate", "value": float("inf")}], [])
    with pytest.raises(DeceivedError, match="count"):
        check_values([{"name": "count", "value": 2**63}], [])


def test_a_table_whose_gpu_shows_an_error_fails_and_its_spoiled_copy_would_be_noticed() -> None:
    others = "".join(f"{place}, 00000000:{place + 10:02X}:00.0, 70\n" for place in range(1, 8))
    table = "index, pci.bus_id, temperature.gpu\n0, 00000000:0A:00.0, {}\n" + others
    bad = Case("X", "nvidia-smi query csv", table.format("[GPU requires reset]"))
    good = table.format("74")
    judge = Judge()

    assert judge.look(bad.kind, bad.text, bad.profile).failing & judge.look(bad.kind, good, bad.profile).passing
