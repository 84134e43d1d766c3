"""Settings as a deployment's environment makes them: a process of its own, because they are read once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from portal.quickstart.place import Place
from tests.architecture.source_files import ROOT

DEPLOYED = {
    "PORTAL_URL": "https://portal.example",
    "SECRET_KEY": "a long secret for tests, of fifty characters or more",
    "TOKEN_PEPPERS": "1:a pepper for tests of 32 characters or more",
    "DATABASE_URL": "postgresql://app@db.example/countersign",
    "REDIS_URL": "redis://broker.example/0",
    "TRUSTED_PROXIES": "172.30.201.0/28",
    "EMAIL_HOST": "mail.example",
    "OIDC_ISSUER": "https://id.example",
    "OIDC_CLIENT_ID": "countersign",
    "OIDC_CLIENT_SECRET": "a secret of the tests",
    "DJANGO_SETTINGS_MODULE": "portal.settings",
}
ASK = """
import django; django.setup()
from django.test import Client
said = Client().get("/healthz", headers={"Host": "portal.example", "X-Forwarded-Proto": "https"})
print(said.status_code, said.headers.get("Strict-Transport-Security"))
"""


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # Tests in a browser set this for their own process; a deployment must not have it.
    kept = {name: value for name, value in os.environ.items() if name != "DJANGO_ALLOW_ASYNC_UNSAFE"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=kept | DEPLOYED | environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_a_deployment_as_the_handbook_describes_it_has_nothing_to_warn_of(tmp_path: Path) -> None:
    ledger = {"LEDGER_KEY_FILE": str(Place(tmp_path).ledger_key()), "LEDGER_ANCHORS": "/srv/anchors"}
    done = python("manage.py", "check", "--deploy", "--fail-level", "WARNING", **ledger)

    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("wrong", "id"),
    [
        ({"DEBUG": "1"}, "E005"),
        ({"SECRET_KEY": ""}, "E002"),
        ({"PORTAL_URL": "http://portal.example"}, "E006"),
        ({"DATABASE_URL": "postgresql://app@/countersign?host=/tmp/countersign-a1b2c3d4"}, "E008"),
        ({"LEDGER_KEY_FILE": ""}, "E010"),
        ({"NOTIFY_FILE": "/nowhere/notify.toml"}, "E012"),
        ({"OIDC_ISSUER": "http://id.example"}, "E013"),
    ],
)
def test_a_wrong_deployment_is_refused(wrong: dict[str, str], id: str) -> None:  # noqa: A002
    done = python("manage.py", "check", "--deploy", **wrong)

    assert done.returncode == 1
    assert f"countersign.{id}" in done.stderr


def test_a_proxy_that_nobody_named_is_warned_of() -> None:
    done = python("manage.py", "check", "--deploy", "--fail-level", "WARNING", TRUSTED_PROXIES="")

    assert done.returncode == 1
    assert "countersign.W010" in done.stderr


def test_behind_a_tls_proxy_browsers_are_told_to_stay_with_tls() -> None:
    assert python("-c", ASK).stdout.strip() == "200 max-age=31536000"
