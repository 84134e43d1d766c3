"""``enroll``: trades a cluster's enrolment token for this node's own token."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Dict, Sequence

from readiness_agent import __version__
from readiness_agent.agent import measure_identity
from readiness_agent.config import Config, Paths, check_portal, check_proxy, read_token, save_config, save_token
from readiness_agent.errors import AgentError, usage_error
from readiness_agent.files import json_bytes, make_private_directory
from readiness_agent.lines import plain
from readiness_agent.node import boot_id, hostname
from readiness_agent.options import answer, make_parser, parse, paths_of
from readiness_agent.transport import Answer, Portal, Unreachable

EXIT_CODES = "0 enrolled, 1 the portal refused, 3 portal away"
REFUSED, AWAY = 1, 3


def main(argv: Sequence[str]) -> int:
    """Enrol this node, or a replayed one, and keep its token and the portal's address."""
    options = _options(argv)
    paths = paths_of(options)
    config = _config(options)
    if options.dry_run:
        text = (
            f"would enrol {config.hostname or hostname()} at {config.portal}, and write {paths.config}, {paths.token}"
        )
        answer(options, {"would_enrol": config._asdict(), "config": paths.config, "token": paths.token}, text)
        return 0
    _make_writable(paths)
    granted = _ask(config, _enrolment_token(options.token_file), paths)
    save_token(paths.token, str(granted["token"]))
    save_config(paths, _kept(config, granted))
    shown = {key: value for key, value in granted.items() if key != "token"}
    answer(options, shown, plain(f"enrolled {granted.get('hostname')} in cluster {granted.get('cluster')}"))
    return 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = make_parser("enroll", "Trade an enrolment token for this node's own token.", EXIT_CODES)
    parser.add_argument("--portal", required=True, metavar="URL", help="https://HOST[:PORT] of the portal")
    parser.add_argument("--token-file", required=True, metavar="FILE", help="enrolment token; - reads standard input")
    parser.add_argument("--cluster", default="", help="cluster to enrol in, when the token is good for several")
    parser.add_argument("--hostname", default="", help="name of the node (default: this machine's)")
    parser.add_argument(
        "--origin", choices=("live", "replay"), default="live", help="replay: a node shown from captures"
    )
    parser.add_argument("--ca-file", default="", metavar="FILE", help="authority that issued the portal's certificate")
    parser.add_argument("--proxy", default="", metavar="URL", help="proxy between this node and the portal")
    options = parse(parser, argv)
    if options.origin == "replay" and not options.hostname:
        raise usage_error("--origin replay needs --hostname: a replayed node never takes this machine's name")
    return options


def _config(options: argparse.Namespace) -> Config:
    return Config(
        portal=check_portal(options.portal),
        cluster=options.cluster,
        hostname=options.hostname,
        origin=options.origin,
        ca_file=options.ca_file,
        proxy=check_proxy(options.proxy),
    )


def _enrolment_token(path: str) -> str:
    """The token, from a private file or from standard input; an argument would show in every process list."""
    if path != "-":
        return read_token(path)
    token = sys.stdin.readline().strip()
    if not token:
        raise usage_error("no token on standard input: pipe the enrolment token into this command")
    return token


def _make_writable(paths: Paths) -> None:
    """Fail before the token is spent, not after."""
    for directory in (os.path.dirname(paths.config), os.path.dirname(paths.token), paths.state):
        try:
            make_private_directory(directory)
        except OSError as error:
            raise usage_error(f"{directory} cannot be made ({error.strerror}): run as root, or name a --home") from None
        if not os.access(directory, os.W_OK | os.X_OK):
            raise usage_error(f"{directory} cannot be written: run as root, or name a --home")


def _ask(config: Config, token: str, paths: Paths) -> Dict[str, Any]:
    """What the portal grants. Raises AgentError with its reason otherwise."""
    body = {
        "hostname": config.hostname or hostname(),
        "serials": measure_identity(paths) if config.origin == "live" else {},
        "boot_id": boot_id(),
        "agent_version": __version__,
        "origin": config.origin,
    }
    if config.cluster:
        body["cluster"] = config.cluster
    portal = Portal(config, token)
    try:
        got = portal.post("/api/v1/enroll", {}, json_bytes(body))
    except Unreachable as error:
        raise AgentError(f"{error}; nothing was changed, try again later", AWAY) from None
    finally:
        portal.close()
    granted = got.json()
    if got.status != 201 or not granted or not _is_token(granted.get("token")):
        raise AgentError(_refusal(got), REFUSED)
    return granted


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and 0 < len(value.split()) == 1


def _refusal(got: Answer) -> str:
    words = got.json() or {}
    said = words.get("detail") or words.get("title") or json.dumps(got.body[:80].decode("utf-8", "replace"))
    return f"the portal answered {got.status}: {said}"


def _kept(config: Config, granted: Dict[str, Any]) -> Config:
    """The hostname is written down only where it is not this machine's: a renamed machine should show."""
    return config._replace(cluster=str(granted.get("cluster") or config.cluster))
