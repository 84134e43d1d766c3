"""``audit``: facts about a run from its own files, for a person, or pushed as evidence of a run."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import Any, List, Sequence, Tuple

from readiness_agent.audits import KINDS, AuditResult
from readiness_agent.audits.sending import evidence_document, push_evidence, shown
from readiness_agent.commands.check import config_if_any, print_verdicts
from readiness_agent.config import Config, Paths, check_portal, load_config, read_token
from readiness_agent.errors import usage_error
from readiness_agent.lines import plain
from readiness_agent.node import hostname, now
from readiness_agent.options import Parser, answer, make_parser, parse, paths_of

EXIT_CODES = (
    "0 measured (with --run: all pass, warn or na), 1 a fail, 2 unknown, 3 portal away, or it did not take the evidence"
)
UNKNOWN = 2


def main(argv: Sequence[str]) -> int:
    """Audit one kind of files; with --run the portal judges what was found."""
    kind = next((one for one in argv if one in KINDS), "")
    if not kind:
        parse(_general_parser(), argv)
    rest = list(argv)
    rest.remove(kind)
    module = import_module(f"readiness_agent.audits.{kind}")
    parser = _parser(kind)
    module.add_arguments(parser)
    options = parse(parser, rest)
    if options.dry_run:
        return _dry_run(options, kind)
    _require_paths(options.paths)
    target = _target(options) if options.run else None  # a wrong token is told before an hour of reading
    result: AuditResult = module.audit(options)
    if target is None:
        return _show(options, kind, result)
    for line in _lines(result):
        print(line, file=sys.stderr)
    document = evidence_document(f"audit {kind}", result, hostname(), now().unix)
    got = push_evidence(*target, options.run, document)
    return print_verdicts(options, {**shown(result), **got}, None, ())


def _general_parser() -> Parser:
    parser = make_parser("audit", "Facts about a run from its own files.", EXIT_CODES)
    parser.add_argument("kind", choices=[*KINDS], metavar="KIND", help="; ".join(f"{k}: {v}" for k, v in KINDS.items()))
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and folders; audit KIND --help tells more")
    return parser


def _parser(kind: str) -> Parser:
    parser = make_parser(f"audit {kind}", f"Audit {KINDS[kind]}.", EXIT_CODES)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and folders to read")
    parser.add_argument("--run", metavar="RUN", help="push what is found as evidence of this run, and print verdicts")
    parser.add_argument("--portal", metavar="URL", help="https://HOST[:PORT]; needless on an enrolled node")
    parser.add_argument("--token-file", metavar="FILE", help="operator token; needless on an enrolled node; - is stdin")
    return parser


def _dry_run(options: argparse.Namespace, kind: str) -> int:
    target = f", and push it as evidence of {options.run}" if options.run else ""
    document = {"kind": kind, "paths": options.paths, "run": options.run}
    answer(options, document, plain(f"would audit ({kind}) {', '.join(options.paths)}{target}"))
    return 0


def _require_paths(paths: Sequence[str]) -> None:
    for path in paths:
        if not os.path.exists(path):
            raise usage_error(f"{path} is not there, or not for this user: name a file or folder to audit")


def _target(options: argparse.Namespace) -> Tuple[Config, str]:
    """Where evidence goes, and with which token: those named, else those of the enrolled node."""
    paths: Paths = paths_of(options)
    if bool(options.portal) != bool(options.token_file):
        raise usage_error("--portal and --token-file belong together: name both, or neither on an enrolled node")
    if not options.portal:
        return load_config(paths), read_token(paths.token)
    return config_if_any(paths)._replace(portal=check_portal(options.portal)), _token(options.token_file)


def _token(path: str) -> str:
    """The token, from a private file or from standard input; an argument would show in every process list."""
    if path != "-":
        return read_token(path)
    token = sys.stdin.readline().strip()
    if not token:
        raise usage_error("no token on standard input: pipe the operator token into this command")
    return token


def _show(options: argparse.Namespace, kind: str, result: AuditResult) -> int:
    answer(options, {"tool": f"audit {kind}", **shown(result)}, "\n".join(_lines(result)) or "nothing was found")
    return UNKNOWN if result.problems or not result.facts else 0


def _lines(result: AuditResult) -> List[str]:
    """Facts, problems and findings by item, one line each."""
    told: List[Any] = [(one.item, 0, f"{one.name} = {one.value} {one.unit}") for one in result.facts]
    told += [(one.item, 1, f"not measured ({one.kind}): {one.detail}") for one in result.problems]
    told += [(one.item, 2, f"{one.place}: {one.said}") for one in result.findings]
    return [plain(f"{item}  {line}") for item, _, line in sorted(told, key=lambda one: one[:2])]
