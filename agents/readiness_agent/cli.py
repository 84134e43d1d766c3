"""Command line of the node agent."""

from __future__ import annotations

import argparse
from typing import Optional, Sequence

from readiness_agent import __version__


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one command; the exit code is the command's own."""
    parser = argparse.ArgumentParser(prog="readiness-agent", description="Measure this node and report facts.")
    parser.add_argument("--version", action="version", version=__version__)
    parser.parse_args(argv)
    parser.print_help()
    return 64
