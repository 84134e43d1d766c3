"""``fingerprint``: shows everything that this node is set to, as the portal compares it with other nodes."""

from __future__ import annotations

from typing import Sequence

from readiness_agent.agent import measure
from readiness_agent.commands.check import config_if_any
from readiness_agent.fingerprint import FINGERPRINT, decoded
from readiness_agent.options import answer, make_parser, parse, paths_of

EXIT_CODES = "0 read, 2 could not be read"
UNKNOWN = 2


def main(argv: Sequence[str]) -> int:
    """Read it and print it; nothing is sent."""
    parser = make_parser(
        "fingerprint", "Show every setting of this node that drift compares; send nothing.", EXIT_CODES
    )
    options = parse(parser, argv)
    paths = paths_of(options)
    outcomes = measure([FINGERPRINT], config_if_any(paths), paths).outcomes
    found = next((decoded(one.result) for one in outcomes if one.probe.name == FINGERPRINT.name), None)
    if found is None:
        answer(options, {"kinds": [], "settings": {}}, "the settings could not be read in time")
        return UNKNOWN
    document = {"sha256": found.sha256, "kinds": list(found.kinds), "settings": found.settings}
    lines = [f"{name} = {'?' if value is None else value}" for name, value in found.settings.items()]
    answer(options, document, "\n".join(lines))
    return 0
