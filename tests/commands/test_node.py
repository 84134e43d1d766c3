"""``manage.py node place``: where nodes stand."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from checks.models import Cluster, LedgerEntry
from tests.lab import healthy_node, lab

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    """Two nodes that nobody has placed yet."""
    made = lab()
    for hostname in ("gpu001", "gpu002"):
        healthy_node(made, hostname)
    return made


def place(*arguments: str) -> str:
    said = StringIO()
    call_command("node", "place", *arguments, stdout=said)
    return said.getvalue().strip()


def test_placed_nodes_keep_their_switch_and_the_act_is_written_down(cluster: Cluster) -> None:
    assert place("lab", "gpu[001-002]", "--switch", "leaf-1") == "2 nodes of lab placed."

    assert set(cluster.nodes.values_list("switch", "rack")) == {("leaf-1", "")}
    assert LedgerEntry.objects.get(what="nodes_placed").data["hostnames"] == ["gpu001", "gpu002"]


def test_a_rack_is_stated_without_losing_the_switch(cluster: Cluster) -> None:
    place("lab", "gpu001", "--switch", "leaf-1")
    place("lab", "gpu001", "--rack", "r07")

    assert cluster.nodes.values_list("switch", "rack").get(hostname="gpu001") == ("leaf-1", "r07")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("lab", "gpu[001-003]", "--switch", "leaf-1"), "gpu003: not enrolled in lab"),
        (("lab", "gpu[001", "--switch", "leaf-1"), "is no node set"),
        (("lba", "gpu001", "--switch", "leaf-1"), "there are: lab"),
        (("lab", "gpu001"), "Give --switch, --rack or both"),
        (("lab", "gpu001", "--switch", "s" * 65), "longer than 64 characters"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence_and_changes_nothing(
    cluster: Cluster, arguments: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence.replace("[", r"\[")):
        place(*arguments)

    assert set(cluster.nodes.values_list("switch", flat=True)) == {""}
