"""What judge and agent add to a reason, in the reader's language.

They write plain English, which is stored and sent to schedulers. Sentences that they make from a fixed form are
translated here on the way to a page; what a tool or a kernel said stays as it is.
"""

import re

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

_FORMS: tuple[tuple[str, Promise], ...] = (
    # The judge's.
    (r"(?P<fact>\w+) was not measured under this version of the item",
     _("%(fact)s was not measured under this version of the item")),
    (r"(?P<fact>\w+) was not measured", _("%(fact)s was not measured")),
    (r"it cannot be judged while this holds", _("it cannot be judged while this holds")),
    (r"(?P<fact>\w+) was seen once since the start; the next report shows whether it gained",
     _("%(fact)s was seen once since the start; the next report shows whether it gained")),
    (r"no file sets it, and it was not yet seen good after a reboot",
     _("no file sets it, and it was not yet seen good after a reboot")),
    (r"no sample with (?P<n>\d+) packets or more", _("no sample with %(n)s packets or more")),
    (r"nothing states which (?P<fact>\w+) (?P<by>\w+) (?P<version>[\d.]+) needs",
     _("nothing states which %(fact)s %(by)s %(version)s needs")),
    (r"(?P<fact>\w+) (?P<value>\S+), needs (?P<sign>[=≠≤≥<>]) (?P<limit>.+)",
     _("%(fact)s is %(value)s, needs %(sign)s %(limit)s")),
    # What pairs of nodes prove of each other.
    (r"suspect: slow with (?P<others>.+); measure it with (?P<next>\S+) next to tell whose fault that is",
     _("suspect: slow with %(others)s; measure it with %(next)s next to tell whose fault that is")),
    (r"suspect: slow with (?P<others>.+); it needs another partner that is sound to tell whose fault that is",
     _("suspect: slow with %(others)s; it needs another partner that is sound to tell whose fault that is")),
    (r"(?P<node>\S+) did not say what it found", _("%(node)s did not say what it found")),
    (r"(?P<node>\S+): (?P<other>\S+) did not come", _("%(node)s: %(other)s did not come")),
    (r"no link was measured(?:: .+)?", _("no link was measured")),
    (r"perftest of one of them writes from no GPU memory", _("perftest of one of them writes from no GPU memory")),
    # The agent's.
    # The reason says that the capture lacks it; here stands what.
    (r"(?P<what>.+): not in this capture", _("%(what)s")),
    (r"(?P<what>.+): not allowed for this user", _("%(what)s: not allowed for this user")),
    (r"(?P<what>.+): not installed(?: \(looked in PATH and the system directories\))?", _("%(what)s: not installed")),
    (r"(?P<what>.+): not there", _("%(what)s: not there")),
    (r"(?P<what>.+): no answer after (?P<n>[\d.]+) s", _("%(what)s: no answer after %(n)s s")),
    (r"(?P<what>.+): no result after (?P<n>[\d.]+) s", _("%(what)s: no result after %(n)s s")),
    (r"(?P<what>.+): process (?P<pids>[\d, ]+) of an earlier run is still stuck in the kernel; not started again",
     _("%(what)s: process %(pids)s of an earlier run is still stuck in the kernel; not started again")),
    (r"not started: other probes used up the time of this tick",
     _("not started: other probes used up the time of this tick")),
    (r"agent\.json names no (?P<key>\w+)", _("agent.json names no %(key)s")),
    (r"no job is running", _("no job is running")),
    (r"no job seen, no limits of a job_user configured, and no slurmd or containerd unit",
     _("no job seen, no limits of a job_user configured, and no slurmd or containerd unit")),
    (r"(?P<what>.+) ended with (?P<code>-?\d+)(?:: (?P<said>.*))?", _("%(what)s ended with %(code)s: %(said)s")),
    (r"only root can try to write as (?P<user>.+)", _("only root can try to write as %(user)s")),
)  # fmt: skip
_COMPILED = tuple((re.compile(form, re.DOTALL), text) for form, text in _FORMS)


def detail_said(detail: str) -> str:
    """*detail* in the reader's language where it is a sentence of ours, else as it was written."""
    for form, text in _COMPILED:
        if match := form.fullmatch(detail):
            return (str(text) % {name: held or "" for name, held in match.groupdict().items()}).removesuffix(": ")
    return detail
