"""Markdown of people as HTML for a page: no tag of theirs gets through, and what is made of it is held to a list."""

from typing import Final

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_WRITER: Final = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
_TAGS: Final = {
    "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "h3", "h4", "h5", "table",
    "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
#: A page has its own h1 and h2: headings of a text stand below them.
_LOWERED: Final = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h5", "h6": "h5"}


def as_html(text: str) -> SafeString:
    """The text as HTML. Pictures are left out: they would tell another site who reads here."""
    tokens = _WRITER.parse(text)
    for token in tokens:
        token.tag = _LOWERED.get(token.tag, token.tag)
    html = _WRITER.renderer.render(tokens, _WRITER.options, {})
    clean = nh3.clean(html, tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"https", "http", "mailto"})
    return mark_safe(clean)  # noqa: S308  (nh3 leaves none but the tags above)
