"""The README's commands do what it says, as printed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.user import CHECKOUT, Portal

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
ASK = README.partition("## Ask it something")[2].partition("\n## ")[0]


def blocks() -> Iterator[str]:
    """Shell blocks of the section, in order; the first sets the variables of all others."""
    yield from re.findall(r"```sh\n(.*?)```", ASK, re.DOTALL)


@pytest.fixture(scope="module")
def said(portal: Portal, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each block printed, run one after the other in one shell, in a folder that looks like the checkout."""
    place = tmp_path_factory.mktemp("reader")
    (place / "var").symlink_to(portal.var)
    for name in ("docs", "portal", "checks", "manage.py"):
        (place / name).symlink_to(CHECKOUT / name)
    (place / ".venv").symlink_to(sys.prefix)
    script = "\necho -----\n".join(blocks())
    done = subprocess.run(
        ["sh", "-e", "-c", script], cwd=place, env=os.environ | {"COUNTERSIGN_VAR": str(portal.var)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split("-----\n")


def test_the_example_node_is_ready_in_json_and_in_text(said: list[str]) -> None:
    assert '"decision":"ready"' in said[1]
    assert said[1].rstrip().endswith("200")


def test_this_machine_is_not_ready_and_an_unknown_node_cannot_be_told(said: list[str]) -> None:
    assert [line for line in said[2].splitlines() if line.isdigit()] == ["409", "503"]


def test_asking_again_costs_a_304(said: list[str]) -> None:
    assert said[3].strip() == "304"


def test_a_report_pushed_by_hand_is_judged(said: list[str]) -> None:
    assert "sysctl-somaxconn" in said[4]
    assert said[4].rstrip().endswith("202")


def test_two_people_get_an_account_each(said: list[str]) -> None:
    assert [line.split()[0] for line in said[5].splitlines()] == ["ember", "wren"]


def test_a_run_that_nobody_signed_does_not_start(said: list[str]) -> None:
    assert "409" in said[6].splitlines()
    assert any(line.endswith("physical fail (unsigned): hardware, platform [user]") for line in said[6].splitlines())
    assert '"run":"my-run"' in said[6]


def test_the_example_report_says_how_it_is_used() -> None:
    done = subprocess.run(
        ["python3", str(CHECKOUT / "docs/examples/report.py")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (1, "usage: report.py HOSTNAME")


def test_every_page_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)", README)

    assert links
    assert not [link for link in links if not Path(CHECKOUT, link).exists()]
