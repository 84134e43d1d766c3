"""Command line of the node agent: finds the one module a command needs, and turns errors into a sentence."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Dict, List, Optional, Sequence

from readiness_agent.errors import EX_USAGE, AgentError, log

COMMANDS: Dict[str, str] = {
    "enroll": "trade an enrolment token for this node's own token",
    "tick": "what cron runs each minute: measure what is due, push, exit",
    "check": "measure now, push, print the portal's verdicts",
    "gate": "may a job start here? the last cached decision, at once",
    "capture": "save everything the probes read as one archive",
    "replay": "run the probes on a capture instead of this machine, and push",
    "parse": "facts from one saved output of a known tool",
    "doctor": "what this agent can see, and which items will be unknown, and why",
}

EX_IOERR = 74
EX_PIPE = 141
"""The reader of our output left; a shell shows the same for any tool."""

USAGE = "usage: readiness-agent COMMAND [OPTIONS]      (readiness-agent COMMAND --help tells more)"


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one command; the exit code is the command's own."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no terminal's encoding may cost an answer
    try:
        code = _dispatch(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except AgentError as error:
        log(str(error))
        return error.exit_code
    except BrokenPipeError:
        _drop_output()
        return EX_PIPE
    except OSError as error:
        _drop_output()
        log(f"{error}: see that this user may use it, and that the disk has room")
        return EX_IOERR
    except KeyboardInterrupt:
        return 130


def _drop_output() -> None:
    """What is still buffered has nowhere to go; the interpreter would try, fail, and end with a code of its own."""
    if sys.stdout is not None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


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

    code: int = import_module(f"readiness_agent.commands.{name}").main(arguments[1:])
    return code


def _help() -> str:
    lines = [USAGE, "", "Measures this node and reports facts; it never judges.", "", "commands:"]
    lines += [f"  {name:<9} {purpose}" for name, purpose in COMMANDS.items()]
    lines += [
        "",
        "exit codes common to all: 64 wrong usage, 74 a file of its own cannot be used,",
        "  78 configuration missing or wrong, or not enrolled",
    ]
    return "\n".join(lines)
