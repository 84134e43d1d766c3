"""Sentences put together the way the reader's language does it."""

from collections.abc import Iterable

from django.utils.translation import get_language
from django.utils.translation import gettext as _

_STOPS = ".。"


def closed(text: str) -> str:
    """*text* as a sentence: a capital first, one full stop last; nothing stays nothing."""
    bare = str(text).strip().rstrip(_STOPS)
    return _("%(sentence)s.") % {"sentence": bare[:1].upper() + bare[1:]} if bare else ""


def joined(sentences: Iterable[str]) -> str:
    """Sentences one after the other; Chinese sets no space between them."""
    space = "" if (get_language() or "").startswith("zh") else " "
    return space.join(sentence for sentence in sentences if sentence)
