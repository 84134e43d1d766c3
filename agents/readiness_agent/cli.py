"""Command line of the node agent: finds the one module a command needs, and turns errors into a sentence."""

from __future__ import annotations

import gc
import os
import sys
from io import TextIOWrapper
from typing import Dict, List, Optional, Sequence

from readiness_agent.errors import EX_USAGE, AgentError, let_go, log

COMMANDS: Dict[str, str] = {
    "enroll": "trade an enrolment token for this node's own token",
    "tick": "what cron runs each minute: measure what is due, push, exit",
    "check": "measure now, push, print the portal's verdicts",
    "gate": "may a job start here? the last cached decision, at once",
    "capture": "save everything the probes read as one archive",
    "replay": "run the probes on a capture instead of this machine, and push",
    "fingerprint": "every setting of this node, as drift compares it with other nodes",
    "parse": "facts from one saved output of a known tool",
    "audit": "facts about a run from its own files: configuration, dataset, tokenizer, logs",
    "doctor": "what this agent can see, and which items will be unknown, and why",
}

BRIEF = frozenset({"tick", "check", "gate"})
"""Over before there is anything to collect: the collector would only cost the node time."""

EX_IOERR = 74
EX_PIPE = 141
"""The reader of our output left; a shell shows the same for any tool."""

USAGE = "usage: readiness-agent COMMAND [OPTIONS]      (readiness-agent COMMAND --help tells more)"


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one command; the exit code is the command's own."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _make_streams_usable()
    code = _run(arguments)
    try:
        sys.stderr.flush()
    except OSError:
        let_go(sys.stderr)  # a log that cannot be written costs no exit code
    return code


def _run(arguments: List[str]) -> int:
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except AgentError as error:
        log(str(error))
        return error.exit_code
    except BrokenPipeError:
        let_go(sys.stdout)
        return EX_PIPE
    except OSError as error:
        let_go(sys.stdout)
        log(f"{error}: see that this user may use it, and that the disk has room")
        return EX_IOERR
    except KeyboardInterrupt:
        return 130


def _make_streams_usable() -> None:
    """A caller may have closed a standard stream: then nothing else may get its number, least of all a token."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  as long as the process
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no terminal's encoding may cost an answer


def _dispatch(arguments: List[str]) -> int:
    name = arguments[0] if arguments else ""
    if name in ("-h", "--help", "help"):
        print(_help())
        return 0
    if name == "--version":
        from readiness_agent import __version__

        print(__version__)
        return 0
    if name not in COMMANDS:
        complaint = f"there is no command {name!r}" if name else "which command?"
        raise AgentError(f"{complaint}; one of: {', '.join(COMMANDS)}", EX_USAGE)
    from importlib import import_module

    if name in BRIEF:
        gc.disable()
    try:
        code: int = import_module(f"readiness_agent.commands.{name}").main(arguments[1:])
    except SystemExit as said:  # argparse: it has printed its help, or what is wrong
        return int(said.code or 0)
    return code


def _help() -> str:
    lines = [USAGE, "", "Measures this node and reports facts; it never judges.", "", "commands:"]
    lines += [f"  {name:<11} {purpose}" for name, purpose in COMMANDS.items()]
    lines += [
        "",
        "exit codes common to all: 64 wrong usage, 74 a file of its own cannot be used,",
        "  78 configuration missing or wrong, or not enrolled",
    ]
    return "\n".join(lines)
