"""What people read: complete, in both languages, and with commands that work."""

import re
from collections.abc import Iterator

import pytest

from checks.domain.catalogue import Catalogue
from checks.domain.items import Item

KINDS = ("title", "consequence", "verify", "remedy", "source_note")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
COMMAND = re.compile(r"`[^`]+`")
SENTENCE_END = {"en": re.compile(r"[.!?](?=\s|$)"), "zh": re.compile(r"[。！？]")}

# What the article says to type, and what does not do what it is said to do.
WRONG_COMMANDS = (
    "nvidia-firmware-update",
    "stress-ng",
    "taskset -cp $$",
    "pgrep",
    "nccl.collective_info",
    "grep -A 10",
    "MEMORY,UTILIZATION,CLOCK,TEMPERATURE",
    "dmon -s u ",
    "> /sys/devices/system/cpu",
)

# Nothing to type: a person looks, or reads a plan.
WITHOUT_A_COMMAND = """
    gpu-thermal-photo power-budget object-store-burst checkpoint-resume scaling-efficiency data-shard-by-sample
    data-duplicates data-language data-cleaning-loss data-spot-check ops-maintenance-window ops-shift ops-spot-resume
    ops-runbook spare-nodes loss-guard
"""


def texts(item: Item) -> Iterator[tuple[str, str, str]]:
    """Kind, English and Chinese of each text."""
    for kind in KINDS:
        yield kind, getattr(item.en, kind), getattr(item.zh, kind)


def test_every_text_is_there_in_both_languages(catalogue: Catalogue) -> None:
    assert not [
        (item.key, kind)
        for item in catalogue.items.values()
        for kind, english, chinese in texts(item)
        if not english.strip() or not chinese.strip()
    ]


def test_no_english_text_stands_in_for_a_chinese_one_or_the_other_way_round(catalogue: Catalogue) -> None:
    assert not [
        (item.key, kind)
        for item in catalogue.items.values()
        for kind, english, chinese in texts(item)
        if english == chinese or CHINESE.search(english) or not CHINESE.search(chinese)
    ]


def test_a_text_is_one_or_two_sentences(catalogue: Catalogue) -> None:
    assert not [
        (item.key, kind, language)
        for item in catalogue.items.values()
        for kind, *both in texts(item)
        for language, text in zip(("en", "zh"), both, strict=True)
        if kind != "title" and not 1 <= len(SENTENCE_END[language].findall(COMMAND.sub("x", text))) <= 2
    ]


def test_a_title_is_short_and_no_sentence(catalogue: Catalogue) -> None:
    titles = [title for item in catalogue.items.values() for title in (item.en.title, item.zh.title)]
    assert not [title for title in titles if len(title) > 40 or title.endswith((".", "。"))]


def test_titles_tell_items_apart(catalogue: Catalogue) -> None:
    for language in ("en", "zh"):
        titles = [item.texts(language).title for item in catalogue.items.values()]
        assert len(set(titles)) == len(titles)


def test_both_languages_give_the_same_commands(catalogue: Catalogue) -> None:
    assert not [
        (item.key, kind)
        for item in catalogue.items.values()
        for kind, english, chinese in texts(item)
        if sorted(COMMAND.findall(english)) != sorted(COMMAND.findall(chinese))
    ]


@pytest.mark.parametrize("wrong", WRONG_COMMANDS)
def test_a_command_that_shows_something_else_is_never_recommended(catalogue: Catalogue, wrong: str) -> None:
    assert not [
        item.key
        for item in catalogue.items.values()
        for texts in (item.en, item.zh)
        if wrong in texts.verify or wrong in texts.remedy
    ]


def test_an_item_says_what_to_type_unless_there_is_nothing_to_type(catalogue: Catalogue) -> None:
    silent = {key for key, item in catalogue.items.items() if not COMMAND.search(item.en.verify)}
    assert silent == set(WITHOUT_A_COMMAND.split())


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("sysctl-swappiness", "backwards"),
        ("sysctl-netdev-backlog", "cannot explain a jump of the loss"),
        ("driver-cuda-match", "515.48.07"),
        ("gpu-firmware", "nvidia-firmware-update"),
        ("net-switch-qos", "never copy it"),
        ("rdma-bandwidth", "HDR100"),
        ("nvme-fio", "lacks direct I/O"),
        ("checkpoint-tag", "knows no tag"),
        ("amp-config", "opinion"),
        ("data-shard-balance", "world_size"),
        ("data-encoding", "langdetect"),
        ("data-cleaning-loss", "wc -l"),
    ],
)
def test_where_the_article_is_wrong_the_source_says_so(catalogue: Catalogue, key: str, words: str) -> None:
    assert words in catalogue.items[key].en.source_note
