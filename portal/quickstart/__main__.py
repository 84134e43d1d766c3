"""``python -m portal.quickstart run | manage … | scratch … | build-agent FILE`` (the Makefile calls it)."""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checks.services.agent_archive import build
from portal.quickstart import programs
from portal.quickstart.errors import QuickstartError
from portal.quickstart.place import CHECKOUT, Place, read_json
from portal.quickstart.postgres import Durability, PostgresServer
from portal.quickstart.run import run
from portal.quickstart.servers import DATABASE


def main() -> int:
    """Run one command; every refusal is one sentence on standard error."""
    arguments = _parser().parse_args()
    try:
        return int(arguments.command(arguments))
    except QuickstartError as error:
        print(f"quickstart: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m portal.quickstart", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    running = commands.add_parser("run", help="start the portal with everything it needs (port: PORT, default 8000)")
    running.set_defaults(command=_run)
    manage = commands.add_parser("manage", help="run a manage.py command in the running portal's environment")
    manage.add_argument("arguments", nargs=argparse.REMAINDER)
    manage.set_defaults(command=_manage)
    scratch = commands.add_parser("scratch", help="run a command with an empty PostgreSQL that is gone afterwards")
    scratch.add_argument("arguments", nargs=argparse.REMAINDER)
    scratch.set_defaults(command=_scratch)
    building = commands.add_parser("build-agent", help="write the agent in one file")
    building.add_argument("path", type=Path)
    building.set_defaults(command=_build_agent)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    port = os.environ.get("PORT", "8000")
    if not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise QuickstartError(f"PORT={port} is no port: give a number from 1 to 65535.")
    run(port=int(port))
    return 0


def _manage(arguments: argparse.Namespace) -> int:
    environment = read_json(Place.of_this_checkout().environment)
    if not environment:
        raise QuickstartError("The portal has not run in this checkout yet: start it with make run.")
    return subprocess.run(
        [*programs.MANAGE, *arguments.arguments], env=programs.inherited() | environment, check=False
    ).returncode


def _scratch(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="countersign-scratch-") as directory:
        place = Path(directory)
        server = PostgresServer(place / "postgres", durability=Durability.THROWAWAY, log=place / "postgres.log")
        try:
            server.start()
            server.ensure_database(DATABASE)
            environment = os.environ | {
                "DATABASE_URL": server.url(role="app", database=DATABASE),
                "DATABASE_OWNER_URL": server.url(role="owner", database=DATABASE),
                "SECRET_KEY": "for a database that lives as long as one command",
            }
            return subprocess.run(arguments.arguments, env=environment, check=False).returncode
        finally:
            server.stop()


def _build_agent(arguments: argparse.Namespace) -> int:
    content = build(CHECKOUT / "agents")
    arguments.path.parent.mkdir(parents=True, exist_ok=True)
    arguments.path.write_bytes(content)
    print(f"{arguments.path}  sha256 {hashlib.sha256(content).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
