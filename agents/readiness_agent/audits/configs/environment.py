"""Environment variables of the training, from launch scripts and from the code that sets them itself."""

from __future__ import annotations

from typing import List, NamedTuple, Optional

from readiness_agent.audits.configs.setup import Setup


class Setting(NamedTuple):
    """One variable as it is set; *value* is None where it cannot be told."""

    name: str
    value: Optional[str]
    place: str


def settings_of(setup: Setup, name: str) -> List[Setting]:
    """Every place that sets *name*."""
    told = setup.launches.variable(name)
    found = [] if told is None else [Setting(name, told.value, told.place)]
    for value, place in setup.variables(name):
        found.append(Setting(name, str(value) if isinstance(value, (str, int)) else None, place))
    return found
