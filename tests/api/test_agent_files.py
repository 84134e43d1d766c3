"""What a node downloads before it knows anybody: the agent in one file, its checksum, its installer."""

import hashlib
import subprocess
import sys
from pathlib import Path

from django.conf import settings
from django.test import Client

from checks.services.agent_archive import build


def test_the_downloaded_file_runs_on_bare_python(client: Client, tmp_path: Path) -> None:
    agent = tmp_path / "agent.pyz"
    agent.write_bytes(client.get("/agent/readiness-agent.pyz").content)

    ran = subprocess.run([sys.executable, "-I", str(agent), "--help"], capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    assert "enroll" in ran.stdout


def test_the_checksum_is_that_of_the_file_in_the_form_sha256sum_reads(client: Client) -> None:
    content = client.get("/agent/readiness-agent.pyz").content

    line = client.get("/agent/readiness-agent.pyz.sha256").content.decode()

    assert line == f"{hashlib.sha256(content).hexdigest()}  readiness-agent.pyz\n"


def test_two_builds_are_byte_for_byte_the_same() -> None:
    source = settings.BASE_DIR / "agents"

    assert build(source) == build(source)


def test_a_node_that_has_the_file_downloads_nothing(client: Client) -> None:
    etag = client.get("/agent/readiness-agent.pyz")["ETag"]

    assert client.get("/agent/readiness-agent.pyz", headers={"If-None-Match": etag}).status_code == 304


def test_the_installer_is_a_shell_script(client: Client) -> None:
    answer = client.get("/agent/install.sh")

    assert answer.status_code == 200
    assert answer.content.startswith(b"#!/bin/sh\n")


def test_nobody_writes_here(client: Client) -> None:
    assert client.post("/agent/readiness-agent.pyz").status_code == 405
