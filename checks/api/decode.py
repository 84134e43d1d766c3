"""A report's body: bytes in, ``ReportV1`` out, or one sentence that says what is wrong with them."""

import math
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

import msgspec
from django.http import HttpRequest
from rest_framework.request import Request

from checks.domain.errors import CountersignError
from checks.services.evidence import digest_of
from checks.services.fingerprint_v1 import FingerprintV1
from checks.services.report_v1 import EvidenceV1, ReportV1
from checks.services.run_evidence_v1 import RunEvidenceV1

MOST_COMPRESSED: Final = 1024 * 1024
MOST_PLAIN: Final = 8 * 1024 * 1024

# A database keeps years before 1 and after 9999, which Python cannot read back.
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(2999, 12, 31, tzinfo=UTC)

T = TypeVar("T")

_GZIP_WINDOW = 31
_DECODER = msgspec.json.Decoder(ReportV1)
_FINGERPRINT_DECODER = msgspec.json.Decoder(FingerprintV1)
_RUN_DECODER = msgspec.json.Decoder(RunEvidenceV1)
# PostgreSQL's jsonb holds no NUL. An escaped backslash before "u0000" is text, so an odd number of them is asked for.
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


class BadBody(CountersignError):
    """The body could not be read at all; sending the same bytes again will not help."""

    code = "bad_body"
    status = 400


class TooLarge(CountersignError):
    """The body is over the limit, packed or unpacked."""

    code = "too_large"
    status = 413

    def __init__(self) -> None:
        super().__init__("The body is over 1 MiB compressed or 8 MiB plain; send less at a time.")


class WrongEvidence(CountersignError):
    """A text that is not the one its digest was made of: nobody may read facts beside another text than theirs."""

    code = "evidence_mismatch"
    status = 422

    def __init__(self, place: int, probe: str) -> None:
        super().__init__(
            f"evidence[{place}] of {probe!r} does not match its sha256: the text was changed after it was hashed; "
            "send the text as it was hashed (UTF-8, with U+FFFD for NUL)."
        )


class NotValid(CountersignError):
    """JSON, but not of the shape that was asked for, or of a schema that this portal does not take."""

    code = "invalid_body"
    status = 422


def encoding_of(request: HttpRequest | Request) -> str:
    """The request's Content-Encoding in small letters; empty without one."""
    return str(request.META.get("HTTP_CONTENT_ENCODING", "")).strip().lower()


def read_body(request: HttpRequest | Request) -> bytes:
    """The body's bytes, refused by its stated length before any of it is read.

    Raises:
        BadBody: sent in pieces without a length, of which the server would show us none.
        TooLarge: over 8 MiB, or over 1 MiB and compressed.
    """
    if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
        raise BadBody(
            "The body came in pieces of unknown length; send it whole, with a Content-Length.",
            code="length_required",
            status=411,
        )
    stated = request.META.get("CONTENT_LENGTH") or "0"
    most = MOST_COMPRESSED if encoding_of(request) == "gzip" else MOST_PLAIN
    if stated.isdigit() and int(stated) > most:
        raise TooLarge
    return bytes(request.body)


def decode_report(body: bytes, *, encoding: str) -> ReportV1:
    """Decode the body of one report, *encoding* being the request's Content-Encoding.

    Raises:
        BadBody: truncated or damaged gzip, or no JSON.
        TooLarge: over 1 MiB compressed or 8 MiB plain.
        NotValid: an unknown or missing field, a wrong type, another schema; the message names the path.
        WrongEvidence: a text that its digest does not fit.
    """
    report = _decoded(_plain(body, encoding), _DECODER)
    if report.captured_at is not None and not _EARLIEST <= report.captured_at <= _LATEST:
        raise NotValid("The body is not valid: captured_at lies outside of the years 2000 to 2999.")
    _require_own_digests(report.evidence)
    return report


def decode_run_evidence(body: bytes, *, encoding: str) -> RunEvidenceV1:
    """Decode the body of one piece of run evidence; it raises as `decode_report` does."""
    evidence = _decoded(_plain(body, encoding), _RUN_DECODER)
    _require_own_digests(evidence.evidence)
    return evidence


def decode_text(body: bytes, *, encoding: str) -> bytes:
    """The bytes that another tool printed, unpacked; it raises as `decode_report` does for what cannot be unpacked."""
    return _plain(body, encoding)


def decode_fingerprint(body: bytes, *, encoding: str) -> FingerprintV1:
    """Decode what a node says of its settings; it raises as `decode_report` does, but for ``WrongEvidence``."""
    return _decoded(_plain(body, encoding), _FINGERPRINT_DECODER)


def decode_json(body: bytes, kind: type[T]) -> T:
    """A small JSON body as *kind*.

    Raises:
        BadBody: no JSON.
        NotValid: an unknown or missing field or a wrong type; the message names the path.
    """
    return _decoded(body, msgspec.json.Decoder(kind))


def _decoded(plain: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    if b"\\u0000" in plain:
        plain = _NUL.sub(rb"\1\\ufffd", plain)
    try:
        return decoder.decode(plain)
    except msgspec.ValidationError as error:
        code = "unsupported_schema" if "`$.schema`" in str(error) else NotValid.code
        raise NotValid(f"The body is not valid: {error}.", code=code) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadBody(f"The body is not JSON: {error}.", code="bad_json") from error


def decode_age(header: str | None) -> float | None:
    """Seconds from writing the report to sending it, of the Report-Age header; None without one.

    Raises:
        BadBody: the header holds no finite number.
    """
    if header is None:
        return None
    try:
        age = float(header)
    except ValueError:
        age = math.nan
    if not math.isfinite(age):
        raise BadBody(f"Report-Age is {header[:40]!r}; send the report's age in seconds.", code="bad_report_age")
    return max(0.0, age)


def _require_own_digests(texts: Sequence[EvidenceV1]) -> None:
    for place, sent in enumerate(texts):
        if digest_of(sent.text) != sent.sha256:
            raise WrongEvidence(place, sent.probe)


def _plain(body: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        if len(body) > MOST_PLAIN:
            raise TooLarge
        return body
    if encoding != "gzip":
        raise BadBody(f"Content-Encoding {encoding[:40]!r} is not known; send gzip or identity.", status=415)
    if len(body) > MOST_COMPRESSED:
        raise TooLarge
    return _gunzip(body)


def _gunzip(body: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=_GZIP_WINDOW)
    try:
        plain = unpacker.decompress(body, MOST_PLAIN + 1)
    except zlib.error as error:
        raise BadBody("The body is not gzip, or damaged; send the report again.", code="bad_gzip") from error
    if len(plain) > MOST_PLAIN:
        raise TooLarge
    if not unpacker.eof or unpacker.unused_data:
        raise BadBody("The gzip body ends too early or too late; send the report again.", code="truncated_gzip")
    return plain
