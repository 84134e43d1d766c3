"""``manage.py prices``: books checked, compared, put in force and imported."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from checks.models import ClusterPrice
from checks.selectors.costs import base_rates, book_named, currency_rates
from tests.lab import lab

OWN = "kind,region,amount,source,sku,verified\ngpu_hour,here,{},https://example.org/contract,h200,yes\n"
OPTIONS = ("--provider", "own", "--source", "https://example.org/contract", "--as-of")


def prices(*arguments: object) -> str:
    said = StringIO()
    call_command("prices", *map(str, arguments), stdout=said)
    return said.getvalue()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "own.csv").write_text(OWN.format("2.49"), encoding="utf-8")
    return tmp_path / "own.csv"


def test_check_works_without_a_database_and_names_what_is_not_verified() -> None:
    """Red when a database query is put before the files are read."""
    done = subprocess.run(
        [sys.executable, "manage.py", "prices", "check"], cwd=settings.BASE_DIR, capture_output=True, text=True,
        env={"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none", "SECRET_KEY": "x" * 50, "PATH": ""}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "nat_gb us-east-1: is not verified" in done.stdout


@pytest.mark.django_db
def test_load_puts_books_and_rates_in_force_and_twice_is_harmless() -> None:
    assert "aws, azure, gcp" in prices("load")
    assert "no book; rates added: 0" in prices("load")

    assert book_named("aws").as_of.isoformat() == "2026-03-01"
    assert {rate.key for rate in base_rates()} >= {"meta_rsc1", "meta_rsc2", "llama3_h100"}
    assert set(currency_rates()) == {"CNY", "EUR"}


@pytest.mark.django_db
def test_diff_shows_what_loading_would_change() -> None:
    assert "+ gpu_hour us-east-1 p5.48xlarge 6.88" in prices("diff")
    prices("load")
    assert "aws: 0 prices differ" in prices("diff")


@pytest.mark.django_db
def test_ones_own_prices_come_from_csv(own: Path) -> None:
    assert "1 prices of 2026-11-01 are in force" in prices("import", own, *OPTIONS, "2026-11-01")
    assert "in force already" in prices("import", own, *OPTIONS, "2026-11-01")


@pytest.mark.django_db
def test_a_large_change_wants_a_yes(own: Path) -> None:
    prices("import", own, *OPTIONS, "2026-11-01")
    own.write_text(OWN.format("4.00"), encoding="utf-8")
    with pytest.raises(CommandError, match="confirm: gpu_hour here h200"):
        prices("import", own, *OPTIONS, "2026-11-02")

    prices("import", own, *OPTIONS, "2026-11-02", "--yes")
    assert [str(row.amount) for row in book_named("own").rows] == ["4.000000"]


@pytest.mark.django_db
def test_a_newer_book_of_ones_own_stays_when_ours_is_loaded_again(own: Path) -> None:
    own.write_text(OWN.format("2.49"), encoding="utf-8")
    prices("import", own, "--provider", "aws", "--source", "https://example.org/c", "--as-of", "2026-11-01")

    assert "aws: your book of 2026-11-01 is newer" in prices("load")
    assert book_named("aws").skus == ("h200",)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("currency", "CNY", "seven", "--as-of", "2026-11-01", "--source", "https://x"), "is no number"),
        (("currency", "CNY", "7", "--as-of", "today", "--source", "https://x"), "is no day"),
        (("currency", "yuan", "7", "--as-of", "2026-11-01", "--source", "https://x"), "is no currency"),
        (("cluster", "nowhere", "2", "--reason", "x"), "no cluster 'nowhere'"),
        (("check", "--path", "/nowhere"), "holds no price book"),
        (("import", "/nowhere.csv", *OPTIONS, "2026-11-01"), "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        prices(*arguments)


@pytest.mark.django_db
def test_a_clusters_price_is_said_by_command() -> None:
    lab("helios")

    assert "costs 2.49 USD" in prices("cluster", "helios", "2.49", "--reason", "contract 17")
    assert ClusterPrice.objects.get().reason == "contract 17"
