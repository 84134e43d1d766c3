"""How many of the checkpoints that are written stay."""

from __future__ import annotations

from checks.domain.cost.errors import require_not_negative


def retained(written: int, *, keep_last: int, keep_every: int) -> int:
    """Checkpoints kept at the end: the last *keep_last*, and every *keep_every*-th one (0: none besides the last).

    Raises:
        ImpossibleInput: a number is negative.
    """
    for field, value in (("written", written), ("keep_last", keep_last), ("keep_every", keep_every)):
        require_not_negative(field, value)
    last = min(written, keep_last)
    older = written - last
    return last + (older // keep_every if keep_every else 0)
