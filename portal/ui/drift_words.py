"""Words about settings: kinds, values, and how many nodes."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from checks.domain.drift.prints import NOT_THERE, Value, kind_of

KINDS: Mapping[str, Promise] = {
    "env": pgettext_lazy("setting", "environment"),
    "sysctl": pgettext_lazy("setting", "sysctl"),
    "cmdline": pgettext_lazy("setting", "kernel command line"),
    "kernel": pgettext_lazy("setting", "kernel"),
    "module": pgettext_lazy("setting", "module"),
    "driver": pgettext_lazy("setting", "driver"),
    "nic": pgettext_lazy("setting", "network adapter"),
    "gpu": pgettext_lazy("setting", "GPU"),
    "limit": pgettext_lazy("setting", "limits"),
    "mount": pgettext_lazy("setting", "mount"),
    "dmi": pgettext_lazy("setting", "BIOS and board"),
    "package": pgettext_lazy("setting", "packages"),
}


def kind_word(name: str) -> str:
    """What people call the kind of the setting *name*."""
    return str(KINDS.get(kind_of(name), kind_of(name)))


def value_word(value: Value) -> str:
    """A value as a page shows it; what is not there, and what is not known, in words."""
    if value is NOT_THERE:
        return _("not there")
    if value is None:
        return _("not known")
    return str(value) or _("empty")
