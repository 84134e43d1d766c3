"""``manage.py incidents``: what others told is loaded whole, as often as one likes, and enters no figure."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from checks.models import Precedent
from checks.selectors.incident_figures import figures_of
from tests.lab import NOON, lab

pytestmark = pytest.mark.django_db


def said(*words: str) -> str:
    output = StringIO()
    call_command("incidents", *words, stdout=output)
    return output.getvalue()


def test_loading_twice_leaves_what_the_files_hold_and_no_incident_of_a_cluster() -> None:
    cluster = lab()
    Precedent.objects.create(key="gone", origin="public", component="unknown", source="x", loaded_at=NOON)

    assert said("load") == said("load") == "31 incidents that others told are loaded.\n"
    assert (Precedent.objects.count(), figures_of([cluster.pk], now=NOON).incidents) == (31, 0)


def test_a_mistake_is_told_and_changes_nothing(tmp_path: Path) -> None:
    lab()
    said("load")
    (tmp_path / "mine.toml").write_text('origin = "public"\nincident = [{ key = "a" }]\n')
    with pytest.raises(CommandError, match="source: is missing"):
        said("load", "--path", str(tmp_path))

    assert Precedent.objects.count() == 31
