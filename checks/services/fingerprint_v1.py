"""A fingerprint as the wire carries it, decoded by type, and its digest, which both sides work out alike."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

MOST_SETTINGS = 6_000

Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
KindName = Annotated[str, Meta(pattern=r"^[a-z]{1,16}\Z")]
SettingName = Annotated[str, Meta(min_length=3, max_length=200)]
SettingValue = Annotated[str, Meta(max_length=500)]


class FingerprintV1(Struct, forbid_unknown_fields=True, frozen=True):
    """What a node says of its settings: their digest, and, once it is asked for them, all of them.

    ``kinds`` are those that were read: what is not there of a kind that was read is not there on the node. A setting
    that is null is there and could not be read.
    """

    schema: Literal[1]
    sha256: Sha256
    kinds: Annotated[list[KindName], Meta(max_length=32)] | None = None
    settings: Annotated[dict[SettingName, SettingValue | None], Meta(max_length=MOST_SETTINGS)] | None = None


def fingerprint_digest(kinds: Sequence[str], settings: Mapping[str, str | None]) -> str:
    """SHA-256 (hex) of the JSON ``{"kinds": […], "settings": {…}}`` with sorted names and kinds, and without spaces."""
    document = {"kinds": sorted(kinds), "settings": dict(settings)}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
