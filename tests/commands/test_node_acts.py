"""``manage.py node``: what only a person may decide, with a name and a reason in the ledger."""

from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from checks.models import LedgerEntry, Node
from tests.lab import healthy_node, lab

pytestmark = pytest.mark.django_db
WHY = ("--by", "quill", "--reason", "the board was replaced")


@pytest.fixture
def node() -> Node:
    """A node in trouble, and a person who may end it."""
    get_user_model().objects.create_user("quill")
    made = healthy_node(lab(), "gpu001")
    Node.objects.filter(pk=made.pk).update(trouble="hardware_changed", unconfirmed_serials={"system": "new"})
    made.refresh_from_db()
    return made


def act(*arguments: str) -> str:
    said = StringIO()
    call_command("node", *arguments, stdout=said)
    return said.getvalue().strip()


def test_a_confirmed_node_is_out_of_trouble_and_keeps_its_new_serial(node: Node) -> None:
    act("confirm", "lab", "gpu001", *WHY)

    node.refresh_from_db()
    assert (node.trouble, node.serials["system"]) == ("", "new")
    assert LedgerEntry.objects.filter(reason="the board was replaced", who__username="quill").exists()


def test_a_hostname_may_enrol_again_for_a_quarter_of_an_hour(node: Node) -> None:
    act("allow-reenrolment", "lab", "GPU001", *WHY)

    node.refresh_from_db()
    assert node.reenrol_until is not None
    assert 880 < (node.reenrol_until - timezone.now()).total_seconds() <= 900


def test_a_retired_node_stays_in_history(node: Node) -> None:
    assert act("retire", "lab", "gpu001", *WHY) == "gpu001 is retired, and its token revoked."

    node.refresh_from_db()
    assert node.retired_at is not None


def test_nobody_decides_without_a_name(node: Node) -> None:
    with pytest.raises(CommandError, match="nobody called 'ghost'"):
        act("confirm", "lab", "gpu001", "--by", "ghost", "--reason", "because")
    node.refresh_from_db()
    assert node.trouble == "hardware_changed"


def test_a_node_that_is_not_there_is_named(node: Node) -> None:
    with pytest.raises(CommandError, match="no node 'gpu999' in lab"):
        act("retire", "lab", "gpu999", *WHY)
