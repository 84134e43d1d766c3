"""Who signs what: shown, proposed by one person, put in force by another; and who signs for whom."""

from datetime import timedelta

import pytest
from django.utils import timezone

from checks.models import Delegation, PolicyApproval, PolicyVersion, Role
from checks.selectors.policies import policy_in_force
from checks.services.people import grant_role
from tests.fleet import Fleet, person
from tests.ui.conftest import Sight, seen_by
from tests.ui.test_step_up import FORM, PROPOSE, prove

POLICY = "/clusters/helios/policy/"
DELEGATE = "/clusters/helios/delegations/"


@pytest.fixture
def quill(fleet: Fleet) -> Sight:
    """The lead of helios, who has just proved to be it."""
    return _proved(fleet, "quill", Role.LEAD)


@pytest.fixture
def iris(fleet: Fleet) -> Sight:
    """An administrator of helios, likewise."""
    return _proved(fleet, "iris", Role.ADMIN)


def _proved(fleet: Fleet, name: str, role: Role) -> Sight:
    sight = seen_by(person(name, fleet.cluster, role, display_name=name.title()))
    prove(sight.client, "/")
    return sight


def test_the_default_policy_says_who_signs_and_for_how_long(quill: Sight) -> None:
    page = quill.text(POLICY)
    assert "hardware engineer and AI platform engineer" in page
    assert "72 h" in page
    assert "until what was signed changes" in page


def test_a_proposal_says_what_it_changes_and_changes_nothing_yet(fleet: Fleet, quill: Sight) -> None:
    assert quill.client.post(PROPOSE, FORM).status_code == 302
    page = quill.text(POLICY)
    assert "Quill proposes version 1." in page
    assert "<li>Physical: how long it counts: <del>72 h</del> → <b>48 h</b></li>" in page
    assert policy_in_force(fleet.cluster).number == 0


def test_a_second_person_puts_it_in_force(fleet: Fleet, quill: Sight, iris: Sight) -> None:
    quill.client.post(PROPOSE, FORM)
    assert "48 h" in iris.text(f"{POLICY}1/approve/")
    assert iris.client.post(f"{POLICY}1/approve/").status_code == 302
    assert policy_in_force(fleet.cluster).number == 1


def test_nobody_approves_their_own_proposal(quill: Sight) -> None:
    quill.client.post(PROPOSE, FORM)
    assert "You proposed it yourself" in quill.text(f"{POLICY}1/approve/")
    response = quill.client.post(f"{POLICY}1/approve/")
    assert response.status_code == 403
    assert not PolicyApproval.objects.exists()


def test_the_physical_layer_keeps_its_two_people(quill: Sight) -> None:
    response = quill.client.post(PROPOSE, FORM | {"physical_roles": ["platform"]})
    assert response.status_code == 422
    assert "The physical layer always needs both roles" in response.content.decode()
    assert not PolicyVersion.objects.exists()


def test_who_does_not_lead_looks_and_proposes_nothing(fleet: Fleet) -> None:
    wren = _proved(fleet, "wren", Role.PLATFORM)
    assert PROPOSE not in wren.text(POLICY)
    wren.text(PROPOSE, status=403)
    assert wren.client.post(PROPOSE, FORM).status_code == 403


def _terms(receiver: Sight, role: str = "platform") -> dict[str, str]:
    start = timezone.now()
    moment = "%Y-%m-%dT%H:%M"
    return {
        "role": role, "receiver": receiver.client.session["_auth_user_id"], "run": "",
        "starts_at": start.strftime(moment), "ends_at": (start + timedelta(days=3)).strftime(moment),
        "reason": "on leave",
    }  # fmt: skip


def test_a_signature_is_delegated_to_somebody_of_the_role_and_taken_back(fleet: Fleet) -> None:
    wren, sage = _proved(fleet, "wren", Role.PLATFORM), _proved(fleet, "sage", Role.PLATFORM)
    assert wren.client.post(DELEGATE, _terms(sage)).status_code == 302
    given = Delegation.objects.get()
    assert (str(given.giver), str(given.receiver)) == ("Wren", "Sage")
    assert f"{DELEGATE}{given.pk}/end/" in sage.text(DELEGATE)
    assert sage.client.post(f"{DELEGATE}{given.pk}/end/", {"reason": "she is back"}).status_code == 302
    assert "Nobody signs for anybody else." in wren.text(DELEGATE)


def test_who_holds_no_signing_role_is_told_that_there_is_nothing_to_delegate(iris: Sight) -> None:
    assert "You hold no role that signs here" in iris.text(DELEGATE)


def test_nobody_ends_a_delegation_between_others_unless_they_lead(fleet: Fleet) -> None:
    wren, sage = _proved(fleet, "wren", Role.PLATFORM), _proved(fleet, "sage", Role.PLATFORM)
    wren.client.post(DELEGATE, _terms(sage))
    hal = _proved(fleet, "hal", Role.HARDWARE)
    ending = f"{DELEGATE}{Delegation.objects.get().pk}/end/"
    assert ending not in hal.text(DELEGATE)
    hal.text(ending, status=403)
    grant_role(user=_user(hal), cluster=fleet.cluster, role=Role.LEAD, by=None, now=timezone.now())
    assert hal.client.post(ending, {"reason": "left the team"}).status_code == 302


def _user(sight: Sight):  # type: ignore[no-untyped-def]
    from portal.accounts.models import User

    return User.objects.get(pk=sight.client.session["_auth_user_id"])
