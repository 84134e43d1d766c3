"""Why something was not signed, in sentences."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.selectors.blockers import SignBlocker
from checks.selectors.changes import Changes, Recently

_SHOWN = 5


class MayNotSign(CountersignError):
    """Not this person, not in that role, or not now; the sentence says why."""

    code = "may_not_sign"
    status = 403


class AlreadySigned(CountersignError):
    """The slot is filled, and what fills it counts."""

    code = "already_signed"
    status = 409


class Moved(CountersignError):
    """What there is to sign is no longer what the signer saw.

    ``changes`` is against what was signed last (None: nothing was), ``recently`` what happened since the page opened.
    """

    code = "manifest_changed"
    status = 409

    def __init__(self, digest: str, changes: Changes | None, recently: Recently) -> None:
        super().__init__(_("What there is to sign has changed since you opened the page; look at it again."))
        self.digest = digest
        self.changes = changes
        self.recently = recently


class NotSignable(CountersignError):
    """Something is unknown, stale, unsettled or failed, so that too few nodes, or nothing at all, can be signed."""

    code = "not_signable"
    status = 409

    def __init__(self, blockers: Iterable[SignBlocker], *, able: int, needed: int) -> None:
        self.blockers = tuple(blockers)
        shown = "; ".join(map(str, self.blockers[:_SHOWN]))
        said = _("%(able)d nodes can be signed and %(needed)d are needed. In the way: %(blockers)s.")
        super().__init__(said % {"able": able, "needed": needed, "blockers": shown or _("nothing else")})
