"""What must hold for the repository as a whole."""

import re

import pytest
from django.core.management import call_command

from tests.architecture.source_files import ROOT, text_files

# Assembled, so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w./-])/(?:" + "|".join(["wo" + "rk", "ro" + "ot"]) + r")/\w")
REGISTRY = re.compile("|".join(["pypi" + r"\.org", "pythonhosted" + r"\.org", "registry" + r"\.npmjs"]))


@pytest.mark.parametrize("name", ["run.txt", "dev.txt"])
def test_a_lock_file_names_no_host(name: str) -> None:
    assert "://" not in (ROOT / "requirements" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["run.txt", "dev.txt"])
def test_every_pin_of_a_lock_file_has_a_hash(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    pins = re.split(r"\n(?=[a-z0-9])", text)[1:]
    assert pins
    assert [pin.partition(" ")[0] for pin in pins if "--hash=sha256:" not in pin] == []


def test_no_file_holds_a_path_of_a_developers_machine() -> None:
    assert [str(path) for path, text in text_files() if MACHINE_PATH.search(text)] == []


def test_no_file_names_a_package_registry() -> None:
    assert [str(path) for path, text in text_files() if REGISTRY.search(text)] == []


@pytest.mark.django_db
def test_every_model_change_has_its_migration() -> None:
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)


def test_every_dependency_states_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    requirements = re.findall(r'^    "[a-z].*[<>=].*",.*$', text, flags=re.MULTILINE)
    assert len(requirements) > 20
    assert [line for line in requirements if "#" not in line] == []
