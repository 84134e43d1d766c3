"""What comes with the portal about incidents of others, and what is wrong with files that cannot be used."""

from pathlib import Path

import pytest

from checks.domain.incidents.knowledge import KnowledgeInvalid, Origin, read_known
from tests.lab import our_catalogue

SHIPPED = sorted((Path(__file__).resolve().parents[3] / "checks" / "knowledge").glob("*.toml"))


def test_the_articles_fourteen_and_the_seventeen_of_public_logbooks_are_told_in_both_languages() -> None:
    known = read_known(SHIPPED, items=our_catalogue().items)

    assert [sum(one.origin is origin for one in known) for origin in Origin] == [14, 17]
    for one in known:
        assert one.items, one.key
        assert any("\u4e00" <= sign <= "\u9fff" for sign in one.zh.told), one.key
        assert one.en.told.isprintable(), one.key


def test_each_names_the_place_that_it_was_told_in() -> None:
    public = [one for one in read_known(SHIPPED, items=our_catalogue().items) if one.origin is Origin.PUBLIC]

    assert {one.source.partition(" ")[0] for one in public} == {
        "bigscience-workshop/bigscience",
        "facebookresearch/metaseq",
    }
    assert all("@" in one.source for one in public)


def test_every_mistake_of_a_file_is_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'origin = "hearsay"\n[[incident]]\nkey = "a"\ncomponent = "gremlin"\nitems = ["no-such"]\nsource = "x"\n'
        'en = { title = "A", told = "B" }\nzh = { title = "A" }\n'
    )
    with pytest.raises(KnowledgeInvalid) as refused:
        read_known([file], items=["gpu-ecc"])

    for said in ("hearsay", "gremlin", "no-such", "told: is missing"):
        assert said in refused.value.message
