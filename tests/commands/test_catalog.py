"""``manage.py catalog``: the checklist's files against their rules, and against what is in force."""

import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from checks.models import CatalogVersion

CATALOGUE = Path(settings.BASE_DIR) / "checks" / "catalog"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A catalogue that a test may change."""
    shutil.copytree(CATALOGUE, tmp_path / "catalog")
    return tmp_path / "catalog"


def catalog(*arguments: object) -> str:
    said = StringIO()
    call_command("catalog", *map(str, arguments), stdout=said)
    return said.getvalue()


def stricter(copy: Path) -> Path:
    file = copy / "system.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("threshold = 5000", "threshold = 8000"), encoding="utf-8")
    return copy


def test_check_works_without_a_database() -> None:
    """Red when a database query is put before the files are read."""
    nowhere = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "PATH": "/usr/bin:/bin", "SECRET_KEY": "x" * 50}

    done = subprocess.run(
        [sys.executable, "manage.py", "catalog", "check"],
        cwd=settings.BASE_DIR, env=nowhere, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert "is sound" in done.stdout


def test_check_prints_every_mistake_with_file_item_and_key(copy: Path) -> None:
    text = (copy / "system.toml").read_text(encoding="utf-8")
    spoilt = text.replace('operator = "survives"', 'operator = "survive"', 1).replace(
        'scope = "node"', 'scope = "rack"', 1
    )
    (copy / "system.toml").write_text(spoilt, encoding="utf-8")
    said = StringIO()

    with pytest.raises(CommandError, match="Nothing was loaded"):
        call_command("catalog", "check", "--path", str(copy), stderr=said)

    assert "system.toml: [sysctl-swappiness] criteria[1].operator: 'survive' is none of" in said.getvalue()
    assert "system.toml: [sysctl-swappiness] scope: 'rack' is none of" in said.getvalue()


def test_a_folder_that_is_not_there_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"is no folder; name the folder that holds catalogue\.toml\."):
        catalog("check", "--path", tmp_path / "none")


@pytest.mark.django_db
def test_the_first_load_needs_no_agreement_and_puts_the_files_in_force() -> None:
    assert "No catalogue is in force yet." in catalog("diff")

    assert "is in force" in catalog("load")

    assert CatalogVersion.objects.filter(in_force=True).count() == 1
    assert catalog("diff").strip() == "Nothing differs from the catalogue in force."


@pytest.mark.django_db
def test_a_diff_shows_what_loading_would_change(copy: Path) -> None:
    catalog("load")

    assert catalog("diff", "--path", stricter(copy)).split("\n")[0] == "~ item sysctl-netdev-backlog: criteria"


@pytest.mark.django_db
def test_a_load_that_changes_something_needs_yes(copy: Path) -> None:
    catalog("load")
    before = CatalogVersion.objects.get(in_force=True)

    with pytest.raises(CommandError, match="say --yes"):
        catalog("load", "--path", stricter(copy))
    assert CatalogVersion.objects.get(in_force=True) == before

    catalog("load", "--path", copy, "--yes")
    assert CatalogVersion.objects.get(in_force=True) != before
