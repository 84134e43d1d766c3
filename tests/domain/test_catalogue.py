"""The checklist's files: read strictly, stored, compared."""

import json
import shutil
from pathlib import Path

import pytest

from checks.domain.catalogue import Catalogue, CatalogueInvalid, load_catalogue
from tests.domain.building import item_of, read
from tests.domain.conftest import CATALOGUE


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A catalogue that a test may spoil."""
    shutil.copytree(CATALOGUE, tmp_path / "catalog")
    return tmp_path / "catalog"


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_our_own_catalogue_has_no_mistake(catalogue: Catalogue) -> None:
    assert catalogue.items["sysctl-netdev-backlog"].criteria[0].threshold == 5000


def test_what_the_database_stores_is_the_whole_catalogue(catalogue: Catalogue) -> None:
    again = Catalogue.from_json(json.loads(json.dumps(catalogue.as_json())))

    assert again.digest == catalogue.digest
    assert again.diff(catalogue) == ()


def test_a_store_that_sorts_keys_does_not_lose_the_order_of_items(catalogue: Catalogue) -> None:
    again = Catalogue.from_json(json.loads(json.dumps(catalogue.as_json(), sort_keys=True)))

    assert list(again.items) == list(catalogue.items)
    assert list(again.items)[:3] == ["gpu-present", "gpu-clean", "gpu-ecc"]


def test_every_fact_that_is_judged_has_a_name_for_people_in_both_languages(catalogue: Catalogue) -> None:
    judged = {
        (item.key, fact)
        for item in catalogue.items.values()
        for criterion in item.all_criteria
        for fact in (criterion.fact, criterion.threshold_fact)
        if fact
    }

    assert [where for where in sorted(judged) if catalogue.label(*where, "zh") == where[1].replace("_", " ")] == []
    assert catalogue.label("gpu-ecc", "ecc_enabled", "en") == "ECC on"
    assert catalogue.label("gpu-ecc", "ecc_enabled", "zh-hans") == "ECC 已开启"


def test_a_fact_without_a_name_is_called_what_it_is(catalogue: Catalogue) -> None:
    assert catalogue.label("gpu-ecc", "brand_new_fact", "en") == "brand new fact"


def test_a_name_that_lacks_a_language_is_a_mistake(copy: Path) -> None:
    change(copy / "facts.toml", 'ecc_enabled = { en = "ECC on", zh', 'ecc_enabled = { en = "ECC on", xx')

    with pytest.raises(CatalogueInvalid) as refused:
        load_catalogue(copy)

    assert "facts.toml: [ecc_enabled] zh: is missing; write a text" in refused.value.message


def test_every_mistake_is_named_at_once_with_file_item_and_key(copy: Path) -> None:
    change(copy / "system.toml", 'operator = "survives"', 'operator = "survive"')
    change(copy / "physical.toml", "settle = 1", 'settle = "one"')

    with pytest.raises(CatalogueInvalid) as found:
        load_catalogue(copy)

    places = {(error.file, error.item, error.key) for error in found.value.errors}
    assert ("system.toml", "sysctl-swappiness", "criteria[1].operator") in places
    assert ("physical.toml", "gpu-present", "settle") in places


def test_a_file_that_is_no_toml_is_named(copy: Path) -> None:
    (copy / "data.toml").write_text("[unfinished", encoding="utf-8")

    with pytest.raises(CatalogueInvalid, match=r"data\.toml: .* cannot be read"):
        load_catalogue(copy)


def test_an_empty_folder_is_no_catalogue(tmp_path: Path) -> None:
    with pytest.raises(CatalogueInvalid, match=r"physical\.toml.*is missing"):
        load_catalogue(tmp_path)


def test_an_item_cannot_stand_in_two_layers(copy: Path) -> None:
    system = (copy / "system.toml").read_text(encoding="utf-8")
    (copy / "data.toml").write_text(system, encoding="utf-8")

    with pytest.raises(CatalogueInvalid, match=r"sysctl-swappiness.*already an item of"):
        load_catalogue(copy)


def test_a_diff_names_the_part_that_changed(copy: Path, catalogue: Catalogue) -> None:
    change(copy / "system.toml", "threshold = 65535", "threshold = 32768")

    changes = catalogue.diff(load_catalogue(copy))

    assert [(change.kind, change.key, change.parts) for change in changes] == [
        ("changed", "sysctl-somaxconn", ("criteria",))
    ]


def test_a_corrected_text_changes_no_version(copy: Path, catalogue: Catalogue) -> None:
    change(copy / "physical.toml", 'title = "All GPUs present"', 'title = "Every GPU present"')

    corrected = load_catalogue(copy)

    assert corrected.items["gpu-present"].version == catalogue.items["gpu-present"].version
    assert corrected.digest != catalogue.digest
    assert [change.parts for change in catalogue.diff(corrected)] == [("texts",)]


def test_another_threshold_is_another_version() -> None:
    other = item_of(criteria=[{"fact": "live", "operator": "ge", "threshold": 6}])

    assert other.version != item_of().version


@pytest.mark.parametrize(
    ("keys", "key", "says"),
    [
        ({"scope": "rack"}, "scope", "none of node, gpu"),
        ({"colour": "red"}, "colour", "not a known key"),
        ({"settle": 0}, "settle", "1 or more"),
        ({"valid_for": "soon"}, "valid_for", "no duration"),
        ({"identity": ["serial"]}, "identity", "not among the item's facts"),
        ({"facts": {"live": "furlongs"}}, "facts.live", "none of count"),
        ({"criteria": []}, "criteria", "can never pass"),
        ({"criteria": [{"fact": "dead", "operator": "eq", "threshold": 1}]}, "criteria[0].fact", "not among"),
        ({"criteria": [{"fact": "live", "operator": "eq", "threshold": "5"}]}, "criteria[0].threshold", "no value of"),
        ({"criteria": [{"fact": "live", "operator": "in", "threshold": 5}]}, "criteria[0].threshold", "must be a list"),
        ({"criteria": [{"fact": "live", "operator": "eq"}]}, "criteria[0].threshold", "0 thresholds"),
        (
            {"criteria": [{"fact": "live", "operator": "sustained", "compare": "gt", "threshold": 5}]},
            "criteria[0].for",
            "for how long",
        ),
        (
            {"criteria": [{"fact": "live", "operator": "ge", "threshold": 5, "needs_load": "prove"}]},
            "criteria[0].needs_load",
            "load is not known here",
        ),
        (
            {"criteria": [{"fact": "live", "operator": "ge", "threshold": 5, "window": "5m"}]},
            "criteria[0].window",
            "no",
        ),
        ({"exempt": [{}]}, "exempt[0].fact", "needs traits"),
        ({"exempt": [{"fact": "live", "operator": "uniform"}]}, "exempt[0].operator", "plain comparison"),
        ({"zh": {"title": "t", "consequence": "c", "verify": "v"}}, "zh.remedy", "is missing"),
    ],
)
def test_a_mistake_is_told_with_its_key(keys: dict[str, object], key: str, says: str) -> None:
    _, errors = read(**keys)

    assert any(error.key == key and says in error.problem for error in errors), [error.message for error in errors]
