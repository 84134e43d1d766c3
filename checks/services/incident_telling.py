"""What programs tell of incidents, as it can be kept: nothing that a machine writes keeps its trouble from being told.

People are told what to change; a program that is refused does not come back, and its trouble is lost.
"""

from collections.abc import Iterable
from typing import Final

from checks.domain.writing import as_line
from checks.services.incident_records import LONGEST_HOSTNAME, LONGEST_PART, MOST_TOUCHED, Touched
from checks.services.markdown import ScriptRefused, require_harmless

_FENCE: Final = "```"


def listed(parts: Iterable[Touched]) -> tuple[tuple[Touched, ...], str]:
    """As many of *parts* as an incident lists, and a sentence where that is less than all: machines before parts."""
    told = tuple(dict.fromkeys(named for one in parts if (named := _named(one)).hostname))
    if len(told) <= MOST_TOUCHED:
        return told, ""
    machines = tuple(dict.fromkeys(Touched(one.hostname) for one in told))
    if len(machines) <= MOST_TOUCHED:
        return machines, f"{len(told):,} parts are more than an incident lists: it lists their machines."
    said = f"{len(machines):,} machines are more than an incident lists: it lists {MOST_TOUCHED:,} of them."
    return machines[:MOST_TOUCHED], said


def with_note(text: str, note: str) -> str:
    """*text*, and *note* in a line of its own."""
    return f"{text}\n{note}" if note else text


def prose(text: str, *, most: int) -> str:
    """A program's words as people may read them: without signs that nobody sees, and with no tag that is one."""
    seen = "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")
    return seen.replace("<", "‹").replace(">", "›")[:most]


def markdown(text: str, *, most: int) -> str:
    """The same where it is read as Markdown: as code, where a browser might run it."""
    told = prose(text, most=most)
    try:
        require_harmless(told)
    except ScriptRefused:
        around = len(_FENCE) * 2 + 2
        return f"{_FENCE}\n{told.replace('`', chr(39))[: most - around]}\n{_FENCE}"
    return told


def _named(one: Touched) -> Touched:
    """Under names that can be kept. What is too long to be the name of any part is told of its machine."""
    part = as_line(one.part)
    return Touched(as_line(one.hostname)[:LONGEST_HOSTNAME], part if len(part) <= LONGEST_PART else "")
