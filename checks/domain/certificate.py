"""A certificate as a file: canonical JSON under a seal, so that no character of it can change unseen.

What stands in it is written down in ``docs/manifest.md``; ``checks/certificate/verify_certificate.py`` verifies it
without the portal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from checks.domain.canonical import Tag, canonical_bytes

#: The version of the form; another form gets another number.
FORMAT: Final = "1"

#: Signs bytes with the site's Ed25519 key, the one that signs the ledger's anchors.
Sign = Callable[[bytes], bytes]


def sealed_bytes(body: Mapping[str, object]) -> bytes:
    """What the seal of a certificate covers: all of *body*, which has no seal yet, under a tag of its own.

    Raises:
        ValueError: the body holds null; what is not set is left out.
    """
    return Tag.CERTIFICATE.encode() + b"\0" + canonical_bytes(body)


def certificate_text(body: Mapping[str, object], sign: Sign) -> str:
    """The certificate as it is handed out: *body* with its seal, in canonical form, and a line end.

    Raises:
        ValueError: the body holds null; what is not set is left out.
    """
    body = {"format": FORMAT, **body}
    covered = sealed_bytes(body)
    seal = {"digest": hashlib.sha256(covered).hexdigest(), "signature": sign(covered).hex()}
    return canonical_bytes({**body, "seal": seal}).decode() + "\n"


def read_certificate(text: str) -> dict[str, Any]:
    """The parts of a certificate, for showing them; nothing is verified."""
    return dict(json.loads(text))
