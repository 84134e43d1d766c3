"""What all commands' options have in common, and how they speak: answers on stdout, all else on stderr."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from typing import Any, Dict, NoReturn, Sequence

from readiness_agent.config import Paths, find_paths
from readiness_agent.errors import EX_USAGE


class Parser(argparse.ArgumentParser):
    """Exits 64 on wrong usage; 2 means *unknown* to our callers."""

    def error(self, message: str) -> NoReturn:
        with suppress(OSError):  # where nobody can read it, the exit code still tells
            self._print_message(f"{self.prog}: {message} ({self.prog} --help tells more)\n", sys.stderr)
        sys.exit(EX_USAGE)


def make_parser(command: str, purpose: str, exit_codes: str) -> Parser:
    """A parser with the options that every command has."""
    parser = Parser(
        prog=f"readiness-agent {command}",
        description=purpose,
        epilog=f"exit codes: {exit_codes}; 64 wrong usage; 78 configuration missing or wrong, or not enrolled",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--home", metavar="DIR", help="configuration and state of another agent (a replayed node, a test)"
    )
    parser.add_argument("--config", metavar="FILE", help="another configuration file")
    parser.add_argument("--json", action="store_true", help="answer in JSON on stdout")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done; send and change nothing")
    return parser


def parse(parser: Parser, argv: Sequence[str]) -> argparse.Namespace:
    """Parse, with argparse's own exits kept as exits."""
    return parser.parse_args(list(argv))


def paths_of(options: argparse.Namespace) -> Paths:
    """Where the agent that *options* name keeps its files."""
    return find_paths(options.home, options.config)


def answer(options: argparse.Namespace, document: Dict[str, Any], text: str) -> None:
    """Print the answer of a command in the form that was asked for."""
    print(json.dumps(document) if options.json else text)
