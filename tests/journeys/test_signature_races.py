"""Two people sign at the very same moment, and a node changes while somebody signs: over HTTP, as browsers do it."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier
from typing import Any

import pytest

from tests.journeys.forms import Page, Sender
from tests.journeys.signoff import RunOfMine, Team, layers
from tests.journeys.training import TrainingNode

pytestmark = pytest.mark.xdist_group("sign-off")

ROUNDS = 18
FLIPS = 6
# People of their own: nobody does more than twenty acts a minute.
HARDWARE, PLATFORM = ("hugo", "hedda"), ("paul", "petra")


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Do all of it in the same moment, each in a thread of its own; the answers in order."""
    start = Barrier(len(acts))

    def act(do: Callable[[], Any]) -> Any:
        start.wait()
        return do()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(act, acts))


@pytest.fixture(scope="module")
def node(team: Team) -> TrainingNode:
    """The one node of the raced run."""
    team.training("race001")
    return team.nodes["race001"]


@pytest.fixture(scope="module")
def raced(team: Team, node: TrainingNode) -> RunOfMine:
    """A run whose physical layer is signed again and again, by two people of each role and one who has both."""
    team.add_all({"bob": "hardware"} | dict.fromkeys(HARDWARE, "hardware") | dict.fromkeys(PLATFORM, "platform"))
    team.grant("bob", "platform")
    return team.run("raced", "race001", needed=1)


@pytest.fixture(scope="module")
def wear(node: TrainingNode) -> Callable[[], None]:
    """One error more in the life of the GPUs: no fault, but part of what is signed, and outdates it at once."""
    errors = count(1)

    def wear() -> None:
        node.change("gpu-ecc", aggregate_sram_uncorrectable=next(errors))
        node.tick_now()

    return wear


def signing(sender: Sender, run: RunOfMine, role: str, shown: Page) -> Callable[[], Page]:
    """Send what *shown* holds, as *role*."""
    path = f"{run.path}sign/physical/"
    return lambda: sender.send(path, {"meaning": "reviewed", "role": role}, shown=shown)


def looks(run: RunOfMine, *senders: Sender) -> list[Page]:
    """Each of them opens the sign page."""
    pages = [sender.look(f"{run.path}sign/physical/") for sender in senders]
    for page in pages:
        assert "digest" in page.form, page.text
    return pages


def counting(run: RunOfMine) -> list[tuple[str, str]]:
    """Role and person of each signature that counts now."""
    return [(one["role"], one["name"]) for one in run.signatures("physical") if one["counts"]]


def assert_one_of_each_role(run: RunOfMine, answers: Sequence[Page]) -> None:
    """Two were taken, the others told that they came second; whoever asks the gate sees a signed layer."""
    assert Counter(answer.path == run.path for answer in answers)[True] == 2, [answer.text for answer in answers]
    assert {answer.status for answer in answers if answer.path != run.path} <= {403, 409}
    held = counting(run)
    assert sorted(role for role, _ in held) == ["hardware", "platform"]
    assert len({name for _, name in held}) == 2
    assert layers(run.gate())["physical"] == "signed"


def test_of_two_people_for_each_role_exactly_one_signs_each_time(
    team: Team, raced: RunOfMine, wear: Callable[[], None]
) -> None:
    for _ in range(ROUNDS // 2):
        wear()
        people = [(role, team.sender(name)) for role, names in _ROLES for name in names]
        random.shuffle(people)
        shown = looks(raced, *(sender for _, sender in people))
        answers = at_once(
            *(signing(sender, raced, role, page) for (role, sender), page in zip(people, shown, strict=True))
        )
        assert_one_of_each_role(raced, answers)


_ROLES = (("hardware", HARDWARE), ("platform", PLATFORM))


def test_one_person_with_both_roles_and_two_windows_never_signs_twice(
    team: Team, raced: RunOfMine, wear: Callable[[], None]
) -> None:
    windows = [Sender(team.portal, team.who("bob"), team.passwords["bob"]).sign_in() for _ in range(2)]
    for number in range(ROUNDS // 2):
        wear()
        shown = looks(raced, *windows)
        answers = at_once(
            *(signing(each, raced, role, page) for each, (role, _), page in zip(windows, _ROLES, shown, strict=True))
        )
        assert Counter(answer.path == raced.path for answer in answers)[True] == 1, [one.text for one in answers]
        assert [name for _, name in counting(raced)] == [team.who("bob")]
        missing = PLATFORM if counting(raced)[0][0] == "hardware" else HARDWARE
        raced.signed_by(missing[number % 2], "physical")
        assert layers(raced.gate())["physical"] == "signed"


def test_whoever_signs_while_a_node_changes_signed_what_was_there_or_is_refused(
    team: Team, raced: RunOfMine, wear: Callable[[], None]
) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(FLIPS):
        wear()
        sender = team.sender(HARDWARE[number % 2])
        [shown] = looks(raced, sender)
        answer, _ = at_once(signing(sender, raced, "hardware", shown), wear)
        signed = answer.path == raced.path
        outcomes["signed" if signed else "refused"] += 1
        assert signed or (answer.status == 409 and "has changed since you opened the page" in answer.text), answer.text
        assert counting(raced) == []
        assert layers(raced.gate())["physical"] == "outdated"
        if not signed:
            assert shown.form["digest"] not in [one["digest"] for one in raced.signatures("physical")]
    assert sum(outcomes.values()) == FLIPS
