"""One gate answer over HTTP: JSON with an ETag, or plain text for shells; and how long it holds."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.http import parse_etags
from rest_framework.request import Request

# What moves with the clock alone; everything else in an answer is in its ETag.
_CLOCKED = frozenset({"evaluated_at", "expires_at", "age_s", "ttl_s"})
_TEXT_STATUS = {"ready": 200, "not_ready": 409, "unknown": 503}
PLAIN = "text/plain; charset=utf-8"


def json_response(request: HttpRequest | Request, answer: Mapping[str, Any]) -> HttpResponse:
    """200 with the answer, or 304 when the asker's copy says the same; ``Gate-TTL`` on both.

    The answer was computed for this request, so a 304 is never given for what held a moment ago.
    """
    etag = etag_of(answer)
    if etag in parse_etags(request.META.get("HTTP_IF_NONE_MATCH", "")):
        response: HttpResponse = HttpResponseNotModified()
    else:
        response = HttpResponse(_dump(answer), content_type="application/json")
    response["ETag"] = etag
    return _with_lifetime(response, answer)


def text_response(answer: Mapping[str, Any]) -> HttpResponse:
    """200 ready, 409 not ready, 503 cannot tell; the first line is the decision and nothing else."""
    body = "".join(f"{line}\n" for line in text_lines(answer))
    return _with_lifetime(HttpResponse(body, content_type=PLAIN, status=_TEXT_STATUS[answer["decision"]]), answer)


def text_refusal(*, status: int, code: str, detail: str) -> HttpResponse:
    """A question that cannot be answered: first line ``unknown``, then why. Every failure of the portal is a 503."""
    response = HttpResponse(f"unknown\n{code}: {_printable(detail)}\n", content_type=PLAIN, status=status)
    response["Cache-Control"] = "no-store"
    return response


def etag_of(answer: Mapping[str, Any]) -> str:
    """Hash of what the answer says, without what the clock alone changes in it."""
    return f'"{hashlib.sha256(_dump(_without_clock(answer))).hexdigest()[:32]}"'


def text_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """The answer for a person at a shell, below one line for a program."""
    nodes = answer["nodes"]
    yield answer["decision"]
    yield f"{answer['purpose']}: {nodes['ready']} of {nodes['asked']} nodes ready, for {answer['ttl_s']} s"
    if nodes["not_ready_nodes"]:
        yield f"not ready: {nodes['not_ready_nodes']}"
    if nodes["unknown_nodes"]:
        yield f"not enrolled: {_printable(nodes['unknown_nodes'])}"
    for reason in answer["reasons"]:
        yield _reason_line(reason)
    left_out = answer["reasons_total"] - len(answer["reasons"])
    if left_out:
        yield f"… and {left_out} more reasons"
    if answer["next_action"]:
        yield f"next: {_printable(answer['next_action'])}"


def _reason_line(reason: Mapping[str, Any]) -> str:
    """``gpu003 gpu4 gpu-ecc fail (criterion): 2, wanted eq 0; Replace the GPU [hardware]``."""
    place = " ".join(part for part in (reason["node"], reason["subject"], reason["item"]) if part)
    line = f"{place} {reason['verdict'] or 'unknown'} ({reason['code']})".strip()
    if reason["value"] is not None:
        line += f": {reason['value']}"
    if reason["threshold"] is not None:
        line += f", wanted {reason['threshold']}"
    if reason["remedy"]:
        line += f"; {reason['remedy']}"
    return _printable(f"{line} [{reason['owner']}]" if reason["owner"] else line)


def _with_lifetime(response: HttpResponse, answer: Mapping[str, Any]) -> HttpResponse:
    response["Gate-TTL"] = str(answer["ttl_s"])
    response["Cache-Control"] = "private, no-cache"
    return response


def _without_clock(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_clock(inner) for name, inner in value.items() if name not in _CLOCKED}
    if isinstance(value, list | tuple):
        return [_without_clock(inner) for inner in value]
    return value


def _printable(text: str) -> str:
    """A node's words on one line of a terminal: control characters are shown, never sent."""
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
