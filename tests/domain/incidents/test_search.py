"""What is stored and what is asked are cut into the same words."""

from checks.domain.incidents.search import query_of, terms_of


def test_latin_words_are_cut_at_everything_that_is_no_letter_or_digit() -> None:
    assert terms_of("INC-0031: gpu-nvlink-links, 402.6 GB/s") == "0031 402 6 gb gpu inc links nvlink s"


def test_a_run_of_chinese_is_stored_as_pairs_and_its_last_character() -> None:
    assert terms_of("吞吐下降") == " ".join(sorted(["吞吐", "吐下", "下降", "降"]))


def test_the_last_latin_word_is_asked_for_as_a_beginning() -> None:
    assert query_of("gpu-nvl") == "'gpu' & 'nvl':*"


def test_a_substring_of_chinese_is_found_by_its_pairs_and_one_character_by_a_beginning() -> None:
    assert query_of("吐下降") == "'吐下' & '下降'"
    assert query_of("吞") == "'吞':*"


def test_signs_alone_ask_for_nothing_and_no_operator_gets_through() -> None:
    assert query_of("!!! & | ()") == ""
    assert query_of("a' | !b") == "'a' & 'b':*"
