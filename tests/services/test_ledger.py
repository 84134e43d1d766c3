"""The chain while many write: no gap, no two successors of one entry, no deadlock, and what a rolled-back act leaves.

The test that no act locks anything after its entry runs around every test (``tests.ledger_guard``).
"""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction

from checks.domain.ledger import GENESIS
from checks.models import Cluster, LedgerEntry, TokenKind
from checks.selectors.anchors import KeyRing
from checks.selectors.ledger import verify_ledger
from checks.services.cluster_settings import change_settings
from checks.services.ledger import write_entry
from checks.services.tokens import issue_token
from checks.services.topology import place_nodes
from tests.factories import NOON, enrolled_machine, make_cluster
from tests.ledger_guard import LedgerGuard
from tests.people import person

WRITERS, ACTS_EACH = 8, 25


class RefusedError(Exception):
    """What makes an act of these tests roll back."""


def write(what: str) -> LedgerEntry:
    return write_entry(what=what, target="test", now=NOON)


def whole() -> bool:
    """Whether every entry follows the one before it and hashes to its digest."""
    return verify_ledger(now=NOON, keys=KeyRing()).breaks == ()


def numbers() -> list[int]:
    return list(LedgerEntry.objects.order_by("seq").values_list("seq", flat=True))


@pytest.mark.django_db
def test_each_entry_names_the_digest_of_the_one_before() -> None:
    first, second = write("first"), write("second")

    assert (first.seq, first.previous) == (1, GENESIS)
    assert (second.seq, second.previous) == (2, first.digest)
    assert LedgerEntry.objects.get(seq=2).digest == second.digest


@pytest.mark.django_db
def test_what_is_stored_hashes_to_the_stored_digest_whatever_it_holds() -> None:
    data = {"half": 0.5, "großes": 2**62, "nothing": None, "list": [None, 1.0, {"e\u0301": "e\u0301"}], "at": NOON}
    write_entry(what="odd", target="t" * 400, now=NOON + timedelta(microseconds=7), data=data, reason="é 中文")

    assert whole()


@pytest.mark.django_db(transaction=True)
def test_an_act_that_is_rolled_back_leaves_no_gap() -> None:
    write("first")
    with pytest.raises(RefusedError), transaction.atomic():
        write("never")
        raise RefusedError
    write("second")

    assert numbers() == [1, 2]
    assert whole()


@pytest.mark.django_db(transaction=True)
def test_an_entry_outside_any_transaction_still_queues_up_for_the_head() -> None:
    """The decorator of ``write_entry``: without it the lock ends before the head is read, and two read the same."""
    together(lambda number: [write("alone") for _ in range(ACTS_EACH)])

    assert numbers() == list(range(1, WRITERS * ACTS_EACH + 1))


@pytest.mark.django_db(transaction=True)
def test_two_hundred_acts_at_once_make_one_whole_chain() -> None:
    """Settings, tokens and nodes of one cluster, a fifth of them rolled back, on eight connections."""
    cluster, lena = make_cluster(), person("lena")
    names = [enrolled_machine(cluster, f"gpu{number:03}").hostname for number in range(4)]
    before = numbers()

    def acts(number: int) -> None:
        for turn in range(ACTS_EACH):
            try:
                with transaction.atomic():
                    one_act(cluster, names, lena, number + turn)
                    if (number + turn) % 5 == 0:
                        raise RefusedError
            except RefusedError:
                pass

    together(acts)
    kept = sum((number + turn) % 5 != 0 for number in range(WRITERS) for turn in range(ACTS_EACH))

    assert kept == 160
    assert numbers() == [*before, *range(len(before) + 1, len(before) + kept + 1)]
    assert whole()


def one_act(cluster: Cluster, names: list[str], lena: object, number: int) -> None:
    if number % 3 == 0:
        change_settings(cluster=cluster, changes={"interval_s": 60 + number}, by=lena, reason="race", now=NOON)
    elif number % 3 == 1:
        issue_token(kind=TokenKind.GATE, cluster=cluster, created_by=lena, now=NOON)
    else:
        place_nodes(cluster=cluster, hostnames=names, places={"rack": f"r{number}"}, by=lena, now=NOON)


def together(acts: Callable[[int], object]) -> None:
    """Run *acts* in ``WRITERS`` threads, each with a connection of its own; the first error is the test's."""
    errors: list[BaseException] = []
    ready = threading.Barrier(WRITERS)

    def run(number: int) -> None:
        try:
            ready.wait()
            acts(number)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[number]) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "late",
    [
        lambda cluster: Cluster.objects.filter(pk=cluster.pk).update(name="later"),
        lambda cluster: Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk),
        lambda cluster: issue_token(kind=TokenKind.GATE, cluster=cluster, created_by=None, now=NOON),
    ],
    ids=["update", "row lock", "another act"],
)
def test_a_lock_after_the_entry_is_found(late: Callable[[Cluster], object], ledger_guard: LedgerGuard) -> None:
    cluster = make_cluster()
    with transaction.atomic():
        late(cluster)
    assert ledger_guard.faults == []
    with transaction.atomic():
        write("too early")
        late(cluster)

    assert ledger_guard.faults
    ledger_guard.faults.clear()


@pytest.mark.django_db
def test_a_lock_on_the_key_of_a_cluster_is_found(ledger_guard: LedgerGuard) -> None:
    with transaction.atomic():
        list(Cluster.objects.select_for_update())

    assert len(ledger_guard.faults) == 1
    ledger_guard.faults.clear()
