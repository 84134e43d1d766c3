"""Signers, policies, reports and roles that move at the same moment, each as the serving role on its own connection.

Each docstring names the line whose deletion turns the test red.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import connection

from checks.domain.errors import CountersignError
from checks.domain.policy import DEFAULT_POLICY
from checks.domain.signoff import SignState
from checks.domain.verdicts import Layer
from checks.models import LedgerEntry, PolicyVersion, Revocation, Role, Signature
from checks.services.clusters import set_overrides
from checks.services.people import end_role
from checks.services.policies import approve_policy, propose_policy
from checks.services.signing import revoke_signature
from tests.lab import MINUTE, NOON
from tests.people import person
from tests.services.test_races import Background, calls_waiting
from tests.signed import Signing, a_signable_run, proof, tick

pytestmark = pytest.mark.django_db(transaction=True)

Connect = Callable[[str], psycopg.Connection]
ROUNDS = 200


@pytest.fixture
def signing() -> Signing:
    return a_signable_run(nodes=("gpu001", "gpu002"))


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Run the *acts* in threads that begin at one moment; what each returned, or the refusal that it raised."""
    barrier, results = threading.Barrier(len(acts)), dict[int, Any]()

    def run(number: int, act: Callable[[], Any]) -> None:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=10)
            results[number] = act()
        except CountersignError as refusal:
            results[number] = refusal
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=one) for one in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(results) == len(acts), "somebody is stuck"
    return [results[number] for number in range(len(acts))]


def codes(results: list[Any]) -> list[str]:
    return sorted(getattr(one, "code", "signed") for one in results)


def test_two_signers_at_once_sign_each_role_once_and_nobody_is_ever_stuck(signing: Signing) -> None:
    """The constraints ``signature_one_a_role`` and ``signature_one_a_person`` with the package's lock: either keeps a
    slot from being filled twice, and without both it is. The lock by itself is held by the next two tests.

    Three at once each time: two platform engineers, of whom one is a lead as well, and a lead.
    """
    both, layer = person("both", signing.cluster, Role.PLATFORM, Role.LEAD), Layer.FRAMEWORK
    shown = signing.view(layer).package.digest
    for number in range(ROUNDS):
        results = together(
            lambda: signing.sign(Role.PLATFORM, layer, shown=shown),
            lambda: signing.sign(Role.PLATFORM, layer, by=both, shown=shown),
            lambda: signing.sign(Role.LEAD, layer, shown=shown),
        )
        state = signing.state().layers[layer]
        signed = Signature.objects.filter(pk__in=state.counting)
        assert codes(results) == ["already_signed", "signed", "signed"]
        assert (state.state, state.round) == (SignState.SIGNED, number + 1)
        assert sorted(one.role for one in signed) == ["lead", "platform"]
        assert len({one.signer_id for one in signed}) == 2
        revoke_signature(signature=signed[0], by=signed[0].signer, reason="again", proof=proof(), now=NOON)


def test_one_person_in_two_roles_at_once_fills_one_slot(signing: Signing) -> None:
    """``_require_another_person`` in ``signers.find_signer``, under the lock of ``signing.lock_package``; the unique
    constraint on (package, manifest, round, signer) holds where both are gone.
    """
    both = person("both", signing.cluster, Role.HARDWARE, Role.PLATFORM)
    shown = signing.view().package.digest
    results = together(
        lambda: signing.sign(Role.HARDWARE, by=both, shown=shown),
        lambda: signing.sign(Role.PLATFORM, by=both, shown=shown),
    )

    assert codes(results) == ["may_not_sign", "signed"]


def test_a_report_that_flips_a_node_while_a_signer_waits_is_seen_by_the_signer(
    signing: Signing, connect_as: Connect
) -> None:
    """``run_state`` after ``lock_package`` in ``sign_layer``: read before it, the digest would still be current."""
    shown = signing.view().package.digest
    signing.sign(Role.HARDWARE)
    held = connect_as("app")
    held.execute("SELECT FROM checks_signoffpackage WHERE layer = 'physical' FOR NO KEY UPDATE")
    waiting = Background(lambda: signing.sign(Role.PLATFORM, shown=shown, at=NOON + 5 * MINUTE))
    assert calls_waiting(1)
    tick(signing.fleet, "gpu002", at=NOON + 5 * MINUTE, changed={"gpu-pcie-width": {"width": 8}})
    held.rollback()

    assert waiting.result().code == "manifest_changed"


def test_a_policy_that_changes_while_a_signer_waits_is_the_one_that_counts(
    signing: Signing, connect_as: Connect
) -> None:
    """``policy_in_force`` in ``packages.run_state``, read after the lock: the old one's digest is in what was shown."""
    signing.sign(Role.HARDWARE)
    shown = signing.view().package.digest
    held = connect_as("app")
    held.execute("SELECT FROM checks_signoffpackage WHERE layer = 'physical' FOR NO KEY UPDATE")
    waiting = Background(lambda: signing.sign(Role.PLATFORM, shown=shown))
    assert calls_waiting(1)
    change_policy(signing)
    held.rollback()

    assert waiting.result().code == "manifest_changed"


def test_a_signature_and_a_policy_at_once_never_leave_a_signature_that_counts_under_the_old_one(
    signing: Signing,
) -> None:
    """``policy.policy.digest`` in ``packages._packages``: without it in the header, no signature would notice."""
    proposal = another_policy(signing)
    other = person("other-lead", signing.cluster, Role.LEAD)
    shown = signing.view(Layer.SYSTEM).package.digest
    results = together(
        lambda: signing.sign(Role.PLATFORM, Layer.SYSTEM, shown=shown),
        lambda: approve_policy(policy=proposal, by=other, proof=proof(), now=NOON),
    )

    assert codes(results) in (["signed", "signed"], ["manifest_changed", "signed"])
    assert signing.state().layers[Layer.SYSTEM].state is not SignState.SIGNED


def test_a_threshold_that_somebody_edits_while_another_signs_waits_for_the_signature(
    signing: Signing, connect_as: Connect
) -> None:
    """``hold_cluster`` in ``lock_package``: without it the edit counts before a signature that never saw it, and the
    editor, who had a hand in it since, could sign the result.
    """
    held = connect_as("app")
    held.execute("SELECT pg_advisory_xact_lock(hashtext('countersign.ledger'))")
    signer = Background(lambda: signing.sign(Role.PLATFORM, Layer.SYSTEM))
    assert calls_waiting(1)
    editor = Background(lambda: edit_threshold(signing))
    assert calls_waiting(2)
    waits_for = held.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype <> 'advisory'").fetchone()
    held.rollback()
    acts = (signer.result(), editor.result())

    assert codes([*acts]) == ["signed", "signed"]
    assert waits_for == (1,)


def test_a_role_that_ends_while_its_holder_waits_signs_nothing(signing: Signing, connect_as: Connect) -> None:
    """``_held`` after ``lock_package``: asked before the wait, the role was still there."""
    signing.sign(Role.HARDWARE)
    held = connect_as("app")
    held.execute("SELECT FROM checks_signoffpackage WHERE layer = 'physical' FOR NO KEY UPDATE")
    waiting = Background(lambda: signing.sign(Role.PLATFORM))
    assert calls_waiting(1)
    leaver, cluster = signing.people[Role.PLATFORM], signing.cluster
    ended = Background(
        lambda: end_role(user=leaver, cluster=cluster, role=Role.PLATFORM, by=None, reason="left", now=NOON)
    )
    ended.result()  # which waits for nobody: the signer holds nothing yet
    held.rollback()

    assert waiting.result().code == "may_not_sign"


def test_a_signature_revoked_twice_at_once_is_revoked_once(signing: Signing, connect_as: Connect) -> None:
    """``select_for_update`` in ``signing.lock_package``: without it nobody waits, and the slower one breaks."""
    signature = signing.sign(Role.HARDWARE)
    held = connect_as("app")
    held.execute("SELECT FROM checks_signoffpackage WHERE layer = 'physical' FOR NO KEY UPDATE")
    take_back = partial(
        revoke_signature, signature=signature, by=signature.signer, reason="mistake", proof=proof(), now=NOON
    )
    calls = [Background(take_back), Background(take_back)]
    assert calls_waiting(2)
    held.rollback()

    assert codes([call.result() for call in calls]) == ["already_revoked", "signed"]
    assert Revocation.objects.count() == 1
    assert LedgerEntry.objects.filter(what="signature_revoked").count() == 1


def another_policy(signing: Signing) -> PolicyVersion:
    """A lead proposes that contributors may sign."""
    document = {**DEFAULT_POLICY.as_json(), "contributors_may_sign": True}
    lead = signing.people[Role.LEAD]
    return propose_policy(
        cluster=signing.cluster, document=document, by=lead, reason="small", proof=proof(), now=NOON
    )  # fmt: skip


def change_policy(signing: Signing) -> None:
    """Two leads agree on it."""
    other = person("other-lead", signing.cluster, Role.LEAD)
    approve_policy(policy=another_policy(signing), by=other, proof=proof(), now=NOON)


def edit_threshold(signing: Signing) -> None:
    """A lead lowers a threshold of the system layer."""
    own = {"sysctl-somaxconn": {"live": {"threshold": 32768, "reason": "noise", "source": "ours"}}}
    set_overrides(cluster=signing.cluster, overrides=own, by=signing.people[Role.LEAD], reason="noise", now=NOON)
