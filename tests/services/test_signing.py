"""Two people, two roles, one digest: who may sign what, and what a signature is worth."""

import pytest

from checks.domain.signoff import SignState
from checks.domain.verdicts import Layer
from checks.models import Role
from tests.signed import Signing, a_signable_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def signing() -> Signing:
    return a_signable_run()


def test_a_layer_is_half_signed_by_one_and_signed_by_two(signing: Signing) -> None:
    view = signing.view()
    assert (view.signable, view.blockers) == (True, ())
    signing.sign(Role.HARDWARE)
    assert signing.state().layers[Layer.PHYSICAL].state is SignState.HALF
    signing.sign(Role.PLATFORM)

    assert signing.state().layers[Layer.PHYSICAL].state is SignState.SIGNED


def test_everybody_signs_everything(signing: Signing) -> None:
    signing.sign_all()

    assert {layer: state.state for layer, state in signing.state().layers.items()} == dict.fromkeys(
        Layer, SignState.SIGNED
    )
