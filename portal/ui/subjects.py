"""Subjects as people write them: ``GPU 3``, ``GPU 0–7``, or the node itself."""

from collections.abc import Sequence

from django.utils.translation import gettext as _


def subject_label(subject: str) -> str:
    """``gpu3`` as people write it; the node itself for the empty subject."""
    if not subject:
        return _("node")
    kind = subject.rstrip("0123456789")
    number = subject[len(kind) :]
    return f"{kind.upper()} {number}" if kind in ("gpu", "nic") and number else subject


def subjects_said(subjects: Sequence[str]) -> str:
    """Subjects as people write them: ``GPU 0–7``, ``GPU 0, 3``, or the node."""
    if len(subjects) == 1:
        return subject_label(subjects[0])
    kind = subjects[0].rstrip("0123456789")
    numbers = [subject[len(kind) :] for subject in subjects]
    if not all(subject.startswith(kind) for subject in subjects) or not all(number.isdigit() for number in numbers):
        return ", ".join(subjects)
    return f"{kind.upper()} {_spans(sorted(int(number) for number in numbers))}"


def _spans(numbers: Sequence[int]) -> str:
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(str(span[0]) if len(span) == 1 else f"{span[0]}–{span[-1]}" for span in spans)
