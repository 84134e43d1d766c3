"""That the person at the browser is who signed in, proved a moment ago: by password, second factor, single sign-on."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError

MAX_PROOF_AGE: Final = timedelta(minutes=5)
_LONGEST_AGENT: Final = 300


class ProofTooOld(CountersignError):
    """The person proved too long ago, or never, to be there."""

    code = "proof_too_old"
    status = 403

    def __init__(self) -> None:
        super().__init__(_("Show that it is you once more: the last proof is older than five minutes."))


@dataclass(frozen=True, slots=True)
class Proof:
    """How and when a person proved to be there, and from where; only a browser session has one, no token ever."""

    method: str
    at: datetime
    address: str | None = None
    user_agent: str = ""

    @property
    def known_address(self) -> str | None:
        """The address where it is one: of a socket, or of one link of this machine alone, nothing is known."""
        try:
            return None if self.address is None else str(ip_address(self.address.partition("%")[0]))
        except ValueError:
            return None

    @property
    def told_agent(self) -> str:
        """What the browser calls itself, as far as it can be kept."""
        return "".join(sign for sign in self.user_agent if sign.isprintable())[:_LONGEST_AGENT]


def require_fresh(proof: Proof, *, now: datetime) -> None:
    """Whether *proof* is of the last five minutes.

    Raises:
        ProofTooOld: it is older, or of a time that has not come.
    """
    if not timedelta(0) <= now - proof.at <= MAX_PROOF_AGE:
        raise ProofTooOld
