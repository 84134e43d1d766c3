"""One gate answer over HTTP: JSON with an ETag, or plain text for shells; and how long it holds."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.http import parse_etags
from rest_framework.request import Request

from checks.domain.answers import etag

_TEXT_STATUS = {"ready": 200, "not_ready": 409, "unknown": 503}
PLAIN = "text/plain; charset=utf-8"


def json_response(request: HttpRequest | Request, answer: Mapping[str, Any]) -> HttpResponse:
    """200 with the answer, or 304 when the asker's copy says the same; ``Gate-TTL`` on both.

    The answer was computed for this request, so a 304 is never given for what held a moment ago.
    """
    tag = f'"{etag(answer)}"'
    # A proxy that compresses answers marks their tags as weak (W/); what they stand for is the same.
    if tag in (held.removeprefix("W/") for held in parse_etags(request.META.get("HTTP_IF_NONE_MATCH", ""))):
        response: HttpResponse = HttpResponseNotModified()
    else:
        response = HttpResponse(_dump(answer), content_type="application/json")
    response["ETag"] = tag
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


def text_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """The answer for a person at a shell, below one line for a program; nobody's words begin a line of their own."""
    return map(_printable, _lines(answer))


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    nodes = answer["nodes"]
    yield answer["decision"]
    yield f"{answer['purpose']}: {nodes['ready']} of {nodes['asked']} nodes ready, for {answer['ttl_s']} s"
    if nodes["not_ready_nodes"]:
        yield f"not ready: {nodes['not_ready_nodes']}"
    if nodes["unknown_nodes"]:
        yield f"not enrolled: {nodes['unknown_nodes']}"
    yield from _cost_lines(answer["cost_of_waiting"])
    for reason in answer["reasons"]:
        yield _reason_line(reason)
    left_out = answer["reasons_total"] - len(answer["reasons"])
    if left_out:
        yield f"… and {left_out} more reasons"
    if answer["next_action"]:
        yield f"next: {answer['next_action']}"


def _cost_lines(cost: Mapping[str, Any] | None) -> Iterator[str]:
    """``waiting costs 165.12 USD an hour (24 GPUs)``; no line where nobody said what a GPU hour costs."""
    if cost is not None and cost["usd_per_hour"] is not None:
        yield f"waiting costs {cost['usd_per_hour']} USD an hour ({cost['gpus']} GPUs)"


def _reason_line(reason: Mapping[str, Any]) -> str:
    """``gpu003 gpu4 gpu-ecc fail (criterion): 2, threshold 0; Replace the GPU. [hardware]``."""
    place = " ".join(part for part in (reason["node"], reason["subject"], reason["item"] or reason["layer"]) if part)
    line = f"{place} {reason['verdict']} ({reason['code']})".strip()
    if reason["value"] is not None:
        line += f": {_plain(reason['value'])}"
    if reason["threshold"] is not None:
        line += f", threshold {_plain(reason['threshold'])}"
    if reason["remedy"]:
        line += f"; {reason['remedy']}"
    return f"{line} [{reason['owner']}]"


def _plain(value: Any) -> str:
    """A value as the JSON answer spells it, but for quotes: ``false``; and a whole number without ``.0``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return str(value)


def _with_lifetime(response: HttpResponse, answer: Mapping[str, Any]) -> HttpResponse:
    response["Gate-TTL"] = str(answer["ttl_s"])
    response["Cache-Control"] = "private, no-cache"
    return response


def _printable(text: str) -> str:
    """A node's words on one line of a terminal: control characters are shown, never sent."""
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)


def _dump(value: Any) -> bytes:
    return msgspec.json.encode(value)
