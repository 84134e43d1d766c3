"""What keeps something from being signed, in one shape for every screen and refusal."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SignBlocker:
    """One reason; ``node`` is a uuid and ``hostname`` its name, both empty for what is not a node's.

    A reason that speaks of a whole node has no item. ``code`` is one of `checks.domain.verdicts.Reason`.
    """

    hostname: str
    item: str
    subject: str
    code: str
    node: str = ""
    detail: str = ""

    def __str__(self) -> str:
        where = " ".join(part for part in (self.hostname, self.item, self.subject) if part)
        return f"{where}: {self.code}" if where else self.code
