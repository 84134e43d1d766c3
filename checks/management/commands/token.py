"""``manage.py token issue|revoke|list``."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.management.acts import find_cluster, told_in_one_line
from checks.models import Token, TokenKind
from checks.services.tokens import issue_token, revoke_token

ISSUED_HERE = (TokenKind.GATE, TokenKind.ENROLMENT, TokenKind.OPERATOR)


class Command(BaseCommand):
    """Tokens of schedulers, automation and nodes that are to enrol; a node's own token comes from its enrolment."""

    help = "Issue a token (printed once, alone on standard output), revoke one, or list them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``issue gate|enrolment|operator --cluster SLUG``, ``revoke KEY``, ``list``."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        issue = verbs.add_parser("issue", help="issue a token; its text cannot be shown again")
        issue.add_argument("kind", choices=[kind.value for kind in ISSUED_HERE])
        issue.add_argument(
            "--cluster", action="append", required=True, help="repeat for a gate or operator token of several"
        )
        issue.add_argument("--name", default="", help="what it is for")
        issue.add_argument(
            "--hours", type=float, help="hours until it ends; an enrolment token ends after 24 by itself"
        )
        issue.add_argument("--uses", type=int, help="how many machines it may enrol")
        issue.add_argument("--hosts", default="", help="enrols only hostnames like this, such as 'gpu-*'")
        issue.add_argument("--network", action="append", default=[], help="only from this network, such as 10.0.0.0/8")
        revoke = verbs.add_parser("revoke", help="end a token at once")
        revoke.add_argument("key", help="the eight letters after cs_<kind>_")
        revoke.add_argument("--reason", default="revoked with manage.py token revoke")
        verbs.add_parser("list", help="list tokens that still work")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the one act."""
        with told_in_one_line():
            getattr(self, f"_{options['verb']}")(options)

    def _issue(self, options: dict[str, Any]) -> None:
        clusters = [find_cluster(slug) for slug in options["cluster"]]
        kind = TokenKind(options["kind"])
        if kind == TokenKind.ENROLMENT and len(clusters) > 1:
            raise CommandError("An enrolment token is for one cluster; issue one for each.")
        now = timezone.now()
        hours = options["hours"] or (24 if kind == TokenKind.ENROLMENT else None)
        _, text = issue_token(
            kind=kind,
            now=now,
            created_by=None,
            name=options["name"],
            cluster=clusters[0] if kind == TokenKind.ENROLMENT else None,
            clusters=() if kind == TokenKind.ENROLMENT else clusters,
            expires_at=now + timedelta(hours=hours) if hours else None,
            uses_left=options["uses"],
            networks=options["network"],
            hostname_pattern=options["hosts"],
        )
        self.stdout.write(text)

    def _revoke(self, options: dict[str, Any]) -> None:
        token = Token.objects.filter(key=options["key"]).first()
        if token is None:
            raise CommandError(f"No token has the key {options['key']!r}; see manage.py token list.")
        revoke_token(token=token, by=None, reason=options["reason"], now=timezone.now())
        self.stdout.write(f"{token} is revoked.")

    def _list(self, options: dict[str, Any]) -> None:
        for token in Token.objects.filter(revoked_at=None).order_by("kind", "created_at"):
            ends = f"ends {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "no end"
            self.stdout.write(f"{token}  {token.name}  {ends}")
