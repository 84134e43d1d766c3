"""Who may do what about a run: asked inside the transaction of the act, of the roles held now."""

from collections.abc import Collection
from typing import Any, Final

from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.writing import is_prose
from checks.models import Cluster, Role
from checks.selectors.roles import roles_of

#: The longest text that stands in the ledger.
LONGEST_REASON: Final = 2000


class MayNot(CountersignError):
    """The person is known here, and may not do that."""

    code = "may_not"
    status = 403


class ReasonMissing(CountersignError):
    """The act needs a reason, which stands in the ledger."""

    code = "reason_missing"

    def __init__(self) -> None:
        super().__init__(_("Say why: the reason stands in the ledger."))


class TextRefused(CountersignError):
    """The text is too long for the ledger, or holds controls that no reader sees."""

    code = "text_refused"

    def __init__(self, most: int) -> None:
        super().__init__(_("Write at most %(most)d characters, and no control characters.") % {"most": most})


def require_role(by: Any, cluster: Cluster, allowed: Collection[str]) -> frozenset[str]:
    """The roles among *allowed* that *by* holds in *cluster* now.

    Raises:
        MayNot: none of them, or the cluster is closed.
    """
    if cluster.closed_at is not None:
        raise MayNot(_("%(cluster)s is closed; nothing of it changes any more.") % {"cluster": cluster.slug})
    held = roles_of(by, cluster) & frozenset(allowed)
    if not held:
        names = ", ".join(str(role.label) for role in Role if role in allowed)
        said = _("Only these may do that in %(cluster)s: %(roles)s. Ask an administrator for a role.")
        raise MayNot(said % {"cluster": cluster.slug, "roles": names})
    return held


def require_reason(reason: str) -> str:
    """*reason* without the space around it.

    Raises:
        ReasonMissing: nothing is left.
        TextRefused: as `require_prose`.
    """
    if not reason.strip():
        raise ReasonMissing
    return require_prose(reason)


def require_prose(text: str, *, most: int = LONGEST_REASON) -> str:
    """*text* without the space around it; it may be empty.

    Raises:
        TextRefused: it is longer than *most* characters, or holds what no reader sees.
    """
    told = text.strip()
    if len(told) > most or not is_prose(told):
        raise TextRefused(most)
    return told
