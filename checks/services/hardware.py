"""Which machine speaks: serials against those on file, and what a replaced or reordered part means.

A slot that holds another serial makes the node *unknown* until a person confirms it. A slot that is missing says
nothing: an agent without root, no DMI, a lost GPU. GPUs and NICs are numbered by what is visible, so behind a lost one
the others move up: a part is known by its serial wherever it stands, and keeps the subject it had.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_NUMBERED = re.compile(r"(gpu|nic)[0-9]{1,4}")
# A machine has tens; what lies beyond would only make a node's row grow with every report.
_MOST_SLOTS = 256


@dataclass(frozen=True, slots=True)
class SerialCheck:
    """What a report's serials say.

    *known* are the serials on file with newly seen slots added; *changed* the slots whose value nobody confirmed;
    *subjects* maps a reported subject to the one on file, only where they differ.
    """

    known: Mapping[str, str]
    changed: Mapping[str, str] = field(default_factory=dict)
    subjects: Mapping[str, str] = field(default_factory=dict)


def check_serials(known: Mapping[str, str], reported: Mapping[str, str]) -> SerialCheck:
    """Hold *reported* serials against the *known* ones, slot by slot and part by part."""
    if all(known.get(slot) == serial for slot, serial in reported.items()):
        return SerialCheck(known)
    slot_of = {(_kind(slot), serial): slot for slot, serial in known.items()}
    merged, changed, subjects = dict(known), {}, {}
    for slot, serial in reported.items():
        home = slot_of.get((_kind(slot), serial))
        if home is not None:
            if home != slot:
                subjects[slot] = home
        elif slot in known:
            changed[slot] = serial
        elif len(merged) < _MOST_SLOTS:
            merged[slot] = serial
    return SerialCheck(merged, changed, _without_collisions(subjects, reported, known))


def is_part(slot: str) -> bool:
    """Whether the slot is a numbered part with rows of its own, such as ``gpu3``."""
    return _NUMBERED.fullmatch(slot) is not None


def _kind(slot: str) -> str:
    match = _NUMBERED.fullmatch(slot)
    return match[1] if match else slot


def _without_collisions(
    subjects: dict[str, str], reported: Mapping[str, str], known: Mapping[str, str]
) -> Mapping[str, str]:
    """Drop the renaming when two reported parts would share one subject: an unknown part stands where it says."""
    final = [subjects.get(slot, slot) for slot in reported if is_part(slot)]
    return subjects if len(final) == len(set(final)) else {}
