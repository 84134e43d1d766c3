"""``manage.py person add|address|grant|end|close|reopen``."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.management.acts import find_cluster, told_in_one_line
from checks.models import Role
from checks.services.people import add_person, change_address, end_role, grant_role, set_active


class Command(BaseCommand):
    """People and their roles in clusters."""

    help = (
        "Add a person (a password is made and printed once), change an address, grant a role in a cluster or end it, "
        "close an account or open it again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``add NAME [--email A] [--role R --cluster C]``, ``address NAME A``, ``grant …``, ``close …``."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb, needed in (("add", False), ("grant", True), ("end", True)):
            one = verbs.add_parser(verb)
            one.add_argument("username")
            one.add_argument("--role", choices=Role.values, required=needed)
            one.add_argument("--cluster", required=needed)
        verbs.choices["add"].add_argument("--email", default="", help="where notices go, and who signs in by it")
        verbs.choices["add"].add_argument(
            "--single-sign-on", action="store_true", help="no password: signs in at the identity provider only"
        )
        address = verbs.add_parser("address")
        address.add_argument("username")
        address.add_argument("email")
        for verb in ("close", "reopen"):
            verbs.add_parser(verb).add_argument("username")
        for verb in ("end", "close", "reopen"):
            verbs.choices[verb].add_argument("--reason", default=f"manage.py person {verb}", help="for the ledger")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the one act."""
        with told_in_one_line():
            getattr(self, f"_{options['verb']}")(options)

    def _add(self, options: dict[str, Any]) -> None:
        if bool(options["role"]) != bool(options["cluster"]):
            raise CommandError("A role is held in a cluster: give both --role and --cluster, or neither.")
        cluster = find_cluster(options["cluster"]) if options["cluster"] else None
        alone = options["single_sign_on"]
        password = None if alone else secrets.token_urlsafe(15)
        now = timezone.now()
        user = add_person(username=options["username"], password=password, by=None, now=now, email=options["email"])
        if cluster is not None:
            grant_role(user=user, cluster=cluster, role=Role(options["role"]), by=None, now=now)
        self.stdout.write(f"{options['username']} {password}" if password else options["username"])

    def _address(self, options: dict[str, Any]) -> None:
        user = _find_person(options["username"])
        change_address(user=user, email=options["email"], by=None, now=timezone.now())
        self.stdout.write(f"Notices for {user} go to {options['email'] or 'nobody'}.")

    def _grant(self, options: dict[str, Any]) -> None:
        user, cluster = _find_person(options["username"]), find_cluster(options["cluster"])
        grant_role(user=user, cluster=cluster, role=Role(options["role"]), by=None, now=timezone.now())
        self.stdout.write(f"{user} is {options['role']} in {cluster}.")

    def _end(self, options: dict[str, Any]) -> None:
        user, cluster = _find_person(options["username"]), find_cluster(options["cluster"])
        role, reason = Role(options["role"]), options["reason"]
        end_role(user=user, cluster=cluster, role=role, by=None, reason=reason, now=timezone.now())
        self.stdout.write(f"{user} is not {role} in {cluster} any more.")

    def _close(self, options: dict[str, Any]) -> None:
        user = _find_person(options["username"])
        set_active(user=user, active=False, by=None, reason=options["reason"], now=timezone.now())
        self.stdout.write(f"{user} cannot sign in any more, and what they signed counts no more.")

    def _reopen(self, options: dict[str, Any]) -> None:
        user = _find_person(options["username"])
        set_active(user=user, active=True, by=None, reason=options["reason"], now=timezone.now())
        self.stdout.write(f"{user} can sign in again.")


def _find_person(username: str) -> AbstractBaseUser:
    person = get_user_model().objects.filter(username=username).first()
    if person is None:
        raise CommandError(f"There is nobody called {username!r}; add them with: manage.py person add {username}")
    return person
