"""``capture``: saves everything the probes read as one archive."""

from __future__ import annotations

import os
from typing import Sequence

from readiness_agent.capture import write_capture
from readiness_agent.commands.check import config_if_any
from readiness_agent.errors import log, usage_error
from readiness_agent.fingerprint import FINGERPRINT
from readiness_agent.identity import IDENTITY
from readiness_agent.node import hostname, now
from readiness_agent.options import answer, make_parser, parse, paths_of
from readiness_agent.probes import PROBES
from readiness_agent.recording import RecordingSource
from readiness_agent.redaction import STAND_IN_NAME, Redaction, keep_everything
from readiness_agent.runner import run_probes

EXIT_CODES = "0 saved"


def main(argv: Sequence[str]) -> int:
    """Run every probe once and keep what it read, refusals included."""
    parser = make_parser("capture", "Save everything the probes read as one archive with an index.", EXIT_CODES)
    parser.add_argument("-o", "--output", metavar="FILE", help="archive to write (default: capture-HOSTNAME.tar.gz)")
    parser.add_argument(
        "--redact", action="store_true", help="take out serials, UUIDs, addresses, hostname and secrets"
    )
    options = parse(parser, argv)
    output = options.output or f"capture-{hostname()}.tar.gz"
    if options.dry_run:
        names = [probe.name for probe in (*PROBES, FINGERPRINT)]
        answer(options, {"probes": names, "output": output}, f"would run {', '.join(names)} and write {output}")
        return 0
    if not os.path.isdir(os.path.dirname(output) or "."):
        raise usage_error(f"{os.path.dirname(output)} is not a directory: name another file with -o")
    started, config = now(), config_if_any(paths_of(options))
    outcomes = run_probes([IDENTITY, *PROBES, FINGERPRINT], RecordingSource, config.probe_context())
    for outcome in outcomes:
        if not outcome.records and outcome.result.problems:
            log(f"{outcome.probe.name} read nothing: {outcome.result.problems[0].detail}")
    records = [record for outcome in outcomes for record in outcome.records]
    redact = Redaction(hostname(), config.hostname) if options.redact else keep_everything
    name = STAND_IN_NAME if options.redact else hostname()
    count = write_capture(output, started, name, config.probe_context(), records, redact)
    answer(options, {"output": output, "entries": count}, f"{output}: {count} answers saved")
    return 0
