"""The one form of a thing that is hashed."""

import hashlib
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.canonical import Tag, canonical_bytes, decimal_text, digest


def test_keys_are_sorted_numbers_are_texts_and_nothing_is_spaced() -> None:
    assert canonical_bytes({"b": 5, "a": [True, "x", 1.50]}) == b'{"a":[true,"x","1.5"],"b":"5"}'


def test_the_largest_file_max_keeps_every_digit() -> None:
    assert canonical_bytes(9_223_372_036_854_775_807) == b'"9223372036854775807"'


def test_texts_that_look_alike_are_one_text() -> None:
    assert canonical_bytes("e\u0301") == canonical_bytes("é") == '"é"'.encode()


@pytest.mark.parametrize("value", [None, math.inf, math.nan, {"é": 1}, {1: 2}, object()])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        canonical_bytes(value)


def test_a_digest_is_sha256_behind_its_tag() -> None:
    expected = hashlib.sha256(b'countersign/leaf/1\x00{"a":"1"}').hexdigest()

    assert digest(Tag.LEAF, {"a": 1}) == expected
    assert digest(Tag.NODE, {"a": 1}) != expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_decimal_text_means_the_same_number(number: float) -> None:
    text = decimal_text(number)

    assert float(text) == number
    assert "e" not in text.lower()
    assert Decimal(text) == Decimal(repr(number))
