"""Canonical JSON, and digests over it with a domain tag.

The form is JSON of strings, booleans, arrays and objects only: numbers become decimal strings (``fs.file-max`` can be
2^63-1, which a float cannot hold), keys are ASCII and sorted, there is no white space, texts are NFC, bytes are UTF-8.
A tag in front of the hashed bytes keeps the digest of one kind of thing from ever standing for another.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum

Canonical = str | bool | list["Canonical"] | dict[str, "Canonical"]


class Tag(StrEnum):
    """Domain tags. The number is the version of the form: another form gets another number."""

    LEAF = "countersign/leaf/1"
    NODE = "countersign/node/1"
    SHARED = "countersign/shared/1"
    PACKAGE = "countersign/package/1"
    EMPTY = "countersign/empty/1"
    ITEM = "countersign/item/1"
    RULES = "countersign/rules/1"
    CATALOGUE = "countersign/catalogue/1"
    ANSWER = "countersign/answer/1"
    ACT = "countersign/act/1"
    LEDGER = "countersign/ledger/1"
    ANCHOR = "countersign/anchor/1"
    CERTIFICATE = "countersign/certificate/1"
    POLICY = "countersign/policy/1"
    UNIFORM = "countersign/uniform/1"
    PRICES = "countersign/prices/1"
    NOISE = "countersign/noise/1"


def canonical_bytes(value: object) -> bytes:
    """*value* in canonical form.

    Raises:
        ValueError: the value holds null, a number that is not finite, a key that is not ASCII, or no JSON at all.
    """
    return json.dumps(_canonical(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def digest(tag: Tag, value: object) -> str:
    """SHA-256 (hex) of *value* in canonical form, under *tag*."""
    return hashlib.sha256(tag.encode() + b"\0" + canonical_bytes(value)).hexdigest()


def decimal_text(number: int | float) -> str:
    """A number as the shortest decimal text that means it: ``5.0`` and ``5`` are both ``"5"``, never ``"5e3"``."""
    if not math.isfinite(number):
        raise ValueError(f"{number!r} has no canonical form")
    if number == 0:
        return "0"
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _canonical(value: object) -> Canonical:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, int | float):
        return decimal_text(value)
    if isinstance(value, Mapping):
        return {_key(key): _canonical(held) for key, held in value.items()}
    if isinstance(value, Sequence):
        return [_canonical(held) for held in value]
    raise ValueError(f"{value!r} has no canonical form")


def _key(key: object) -> str:
    if isinstance(key, str) and key.isascii():
        return str(key)
    raise ValueError(f"the key {key!r} is not ASCII text")
