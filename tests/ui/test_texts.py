"""Every text exists in both languages."""

import re

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from django.conf import settings
from django.utils import translation

from portal.accounts.models import Language
from portal.ui import words
from tests.ui.conftest import Sight
from tests.ui.messages import ROOT, messages

PO = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"


@pytest.fixture(scope="module")
def chinese() -> Catalog:
    with PO.open("rb") as file:
        return read_po(file, locale="zh_Hans", abort_invalid=True)


def _key(context: str, singular: str) -> tuple[str, str]:
    return context or "", singular


def test_no_text_of_code_or_templates_is_missing_from_the_chinese_catalogue(chinese: Catalog) -> None:
    known = {_key(entry.context, entry.id if isinstance(entry.id, str) else entry.id[0]) for entry in chinese}
    missing = [(context, singular) for context, singular, _plural in messages() if (context, singular) not in known]
    assert not missing


def test_no_chinese_text_is_empty_or_fuzzy(chinese: Catalog) -> None:
    lacking = [
        entry.id
        for entry in chinese
        if entry.id and (entry.fuzzy or not all([entry.string] if isinstance(entry.string, str) else entry.string))
    ]
    assert not lacking


def test_no_chinese_text_outlives_its_use(chinese: Catalog) -> None:
    used = {(context, singular) for context, singular, _plural in messages()}
    unused = [
        entry.id
        for entry in chinese
        if entry.id and _key(entry.context, entry.id if isinstance(entry.id, str) else entry.id[0]) not in used
    ]
    assert not unused


def test_chinese_texts_name_no_placeholder_that_the_english_ones_lack(chinese: Catalog) -> None:
    def names(text: str) -> set[str]:
        return set(re.findall(r"%\((\w+)\)", text))

    wrong = []
    for entry in chinese:
        if not entry.id:
            continue
        english = entry.id if isinstance(entry.id, str) else " ".join(entry.id)
        own = entry.string if isinstance(entry.string, str) else " ".join(entry.string)
        if not names(own) <= names(english):
            wrong.append(entry.id)
    assert not wrong


def test_the_languages_that_a_person_can_prefer_are_those_of_the_site() -> None:
    assert [choice.value for choice in Language] == [code for code, _name in settings.LANGUAGES]


def test_a_page_in_chinese_says_so_and_shows_the_catalogue_in_chinese(sight: Sight) -> None:
    sight.client.post("/accounts/language/", {"language": "zh-hans", "next": "/"})
    page = sight.text("/clusters/helios/nodes/gpu-003/items/gpu-pcie-width/")
    assert '<html lang="zh-Hans">' in page
    assert "通道数减半时" in page  # the consequence, from checks/catalog/physical.toml
    assert "怎么办" in page


def test_an_unknown_language_is_refused_with_a_sentence(sight: Sight) -> None:
    response = sight.client.post("/accounts/language/", {"language": "tlh", "next": "/"})
    assert response.status_code == 400
    assert "Choose one of the languages" in response.content.decode()


def test_the_way_back_after_choosing_a_language_never_leaves_the_site(sight: Sight) -> None:
    response = sight.client.post("/accounts/language/", {"language": "en", "next": "https://elsewhere.example/"})
    assert response.headers["Location"] == "/"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_verdict_has_a_word_of_its_own(language: str) -> None:
    with translation.override(language):
        said = [str(word) for word in words.VERDICTS.values()]
    assert len(set(said)) == len(said) == 7
