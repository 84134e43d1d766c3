"""Ways around the rule that nobody signs what they had a hand in, and that nobody signs what fails."""

import pytest

from checks.domain.signoff import SignState
from checks.domain.verdicts import Layer
from checks.models import NodeItemState, Role, Run, ScopeState
from checks.services.signing import MayNotSign, NotSignable
from tests.lab import NOON
from tests.people import person
from tests.runs import a_run
from tests.signed import STATED, Signing, a_signable_run, state

pytestmark = pytest.mark.django_db


@pytest.fixture
def signing() -> Signing:
    return a_signable_run(nodes=("gpu001", "gpu002"))


def through_another_run(signing: Signing) -> Signing:
    """The data engineer states the spot check of the dataset while looking at another run that reads it."""
    signing.run = a_run(signing.cluster, "gpu[001-002]", slug="run-8", dataset=signing.run.dataset)
    state(signing, "data-spot-check", STATED["data-spot-check"], by=signing.people[Role.DATA])
    signing.run = Run.objects.get(slug="run-7")
    return signing


def test_a_statement_about_a_dataset_is_a_hand_in_every_run_that_reads_it(signing: Signing) -> None:
    with pytest.raises(MayNotSign, match="data-spot-check"):
        through_another_run(signing).sign(Role.DATA, Layer.DATA)


def test_a_statement_that_was_made_through_another_run_ends_what_its_maker_signed(signing: Signing) -> None:
    signing.sign(Role.DATA, Layer.DATA)
    through_another_run(signing)

    assert signing.state().layers[Layer.DATA].state is SignState.UNSIGNED


def test_only_the_newest_statement_about_a_dataset_counts_whatever_run_it_came_through(signing: Signing) -> None:
    through_another_run(signing)
    state(signing, "data-spot-check", STATED["data-spot-check"], by=person("second", signing.cluster, Role.DATA))

    assert signing.sign(Role.DATA, Layer.DATA).role == Role.DATA


def test_nobody_signs_over_a_failure_that_came_too_soon_to_be_counted(signing: Signing) -> None:
    """A report within the least gap fails a row and settles nothing: the gate is closed, and nothing says so else."""
    NodeItemState.objects.filter(node__hostname="gpu002", item="gpu-ecc").update(raw="fail", reason="criterion")
    ScopeState.objects.filter(item="ops-shift").update(raw="fail", reason="criterion")
    view = signing.view()

    assert {(one.hostname, one.item, one.code) for one in view.blockers} == {("gpu002", "gpu-ecc", "unsettled")}
    with pytest.raises(NotSignable):
        signing.sign(Role.HARDWARE)
    with pytest.raises(NotSignable):
        signing.sign(Role.LEAD, Layer.OPERATIONS)


def test_a_statement_that_no_longer_fails_and_is_not_settled_so_is_not_signed(signing: Signing) -> None:
    ScopeState.objects.filter(item="ops-shift").update(settled="fail")

    assert [(one.item, one.code) for one in signing.view(Layer.OPERATIONS, at=NOON).blockers] == [
        ("ops-shift", "unsettled")
    ]
