"""Every text that the site shows through gettext, read out of code and templates without the gettext tools."""

import io
from collections.abc import Iterator
from pathlib import Path

from babel.messages.extract import extract
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}

# (context, singular, plural): what makes an entry of a catalogue.
Message = tuple[str, str, str]


def messages() -> set[Message]:
    """All of them."""
    return {message for source in _sources() for message in _messages_in(source)}


def _sources() -> Iterator[io.BytesIO]:
    for package in ("portal", "checks"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield io.BytesIO(path.read_bytes())
    for path in sorted((ROOT / "templates").rglob("*.html")):
        text = templatize(path.read_text(encoding="utf-8"), origin=str(path))
        yield io.BytesIO(text.encode())


def _messages_in(source: io.BytesIO) -> Iterator[Message]:
    options = {"parse_template_string": "false"}
    for _line, found, _comments, context in extract("python", source, keywords=KEYWORDS, options=options):
        singular, plural = (found[0], found[1]) if isinstance(found, tuple) else (found, "")
        if singular:
            yield (context or "", singular, plural)
