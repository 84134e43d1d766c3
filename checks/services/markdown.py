"""What people write as Markdown is shown sanitised; what can only be meant to run in a reader's browser is refused."""

import re
from typing import Final

from django.utils.translation import gettext as _
from markdown_it import MarkdownIt

from checks.domain.errors import CountersignError

# HTML is read here to be looked at; pages show none of it.
_READER: Final = MarkdownIt("commonmark", {"html": True})
_RUNS: Final = re.compile(
    r"<\s*/?\s*(?:script|style|iframe|frame|object|embed|applet|form|svg|math|meta|link|base|template)\b|\son\w+\s*=",
    re.IGNORECASE,
)
_RUNNING_LINK: Final = re.compile(r"[(<\"'=:\s](?:javascript|vbscript|data)\s*:[^\s]", re.IGNORECASE)


class ScriptRefused(CountersignError):
    """The text holds what a browser would run."""

    code = "script_refused"

    def __init__(self) -> None:
        super().__init__(_("The text holds HTML that a browser would run; write it as code between backticks."))


def require_harmless(text: str) -> None:
    """Whether *text*, as Markdown, holds no script, style, frame or form, and no link that runs; code may show them.

    Raises:
        ScriptRefused
    """
    for token in _READER.parse(text):
        for one in (token, *(token.children or ())):
            if one.type in ("html_block", "html_inline") and _RUNS.search(one.content):
                raise ScriptRefused
            if one.type == "text" and _RUNNING_LINK.search(f" {one.content}"):
                raise ScriptRefused
