"""Who measures with whom, over the services: pairs, faults by name, and nodes that come late, die or give up."""

from dataclasses import replace
from datetime import timedelta
from math import ceil, log2

import pytest

from checks.domain.errors import CountersignError
from checks.domain.windows import WindowKind
from checks.models import LinkSide, LinkTrial, ScopeState, Token, TokenKind
from checks.selectors.links import ITEM, link_subject
from checks.services.claims import release_node
from checks.services.cluster_settings import change_settings
from checks.services.link_trials import COME_S, FIRST_PORT, PORTS, next_turn, trial_seconds
from checks.services.nodes import retire_node
from checks.services.windows import set_window
from tests.factories import NOON, enrolled_machine, make_cluster
from tests.link_lab import FAST, OFFER, ROUND, SECOND, SLOW, LinkLab, link_lab, told
from tests.people import person

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture
def pair() -> LinkLab:
    """Two nodes that are taken."""
    lab = link_lab(2)
    lab.take()
    return lab


@pytest.fixture
def four() -> LinkLab:
    """Four nodes that are taken."""
    lab = link_lab(4)
    lab.take()
    return lab


def link(lab: LinkLab, *names: str) -> ScopeState:
    """The row of a link."""
    ends = [str(lab.machines[name].node.pk) for name in names]
    return ScopeState.objects.get(scope="link", item=ITEM, subject=link_subject((ends[0], ends[1])))


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_sound_fleet_is_swept_in_as_many_rounds_as_it_can_be_halved_and_passes(size: int) -> None:
    lab = link_lab(size)
    lab.take()
    rounds = lab.measure(lambda one, other: False)
    lab.derive()

    assert rounds == ceil(log2(size))
    assert {name: lab.row(name).detail for name in lab.machines} == dict.fromkeys(lab.machines, "")
    assert set(lab.rows().values()) == {"pass"}


@pytest.mark.parametrize("size", [3, 5, 8, 33])
def test_a_bad_node_alone_is_named_however_many_there_are(size: int) -> None:
    lab = link_lab(size)
    lab.take()
    rounds = lab.measure(lambda one, other: "gpu002" in (one, other))
    lab.derive()

    assert {name for name, raw in lab.rows().items() if raw != "pass"} == {"gpu002"}
    assert lab.row("gpu002").raw == "fail"
    assert rounds <= ceil(log2(size)) + (size == 3)


@pytest.mark.parametrize("size", [3, 5, 8])
def test_a_bad_link_is_named_with_both_ends_and_neither_end_is(size: int) -> None:
    lab = link_lab(size)
    lab.take()
    ask = lab.ask_all()
    one = next(name for name, turn in ask.items() if turn.trial is not None)
    other = ask[one].partner
    rounds = lab.measure(lambda here, there: {here, there} == {one, other})
    lab.derive()

    assert (link(lab, one, other).raw, link(lab, one, other).settled) == ("fail", "fail")
    assert set(lab.rows().values()) == {"pass"}
    assert rounds <= ceil(log2(size)) + (size == 3)


def test_two_slow_nodes_alone_are_suspects_and_neither_fails(pair: LinkLab) -> None:
    assert pair.measure(lambda one, other: True) == 1
    pair.derive()

    assert pair.rows() == {"gpu001": "unknown", "gpu002": "unknown"}
    assert pair.row("gpu001").detail == (
        "suspect: slow with gpu002; it needs another partner that is sound to tell whose fault that is"
    )


def test_a_suspect_is_told_with_whom_it_measures_next(four: LinkLab) -> None:
    turns = four.ask_all()
    for name, turn in turns.items():
        assert turn.trial is not None
        four.tell(name, turn.trial, told(SLOW if "gpu001" in (name, turn.partner) else FAST))
    four.derive()
    sound = sorted({"gpu002", "gpu003", "gpu004"} - {turns["gpu001"].partner})

    assert four.row("gpu001").raw == "unknown"
    assert four.row("gpu001").detail.startswith(f"suspect: slow with {turns['gpu001'].partner}; measure it with ")
    assert any(f"with {name} next" in four.row("gpu001").detail for name in sound)


def test_with_every_link_wanted_each_pair_meets(four: LinkLab) -> None:
    change_settings(cluster=four.cluster, changes={"every_link": True}, by=None, reason="", now=NOON)

    assert four.measure(lambda one, other: False) == 3
    assert LinkTrial.objects.count() == 6


def test_both_ends_are_told_of_each_other_and_of_one_port(pair: LinkLab) -> None:
    server, client = pair.ask("gpu001", replace(OFFER, address="ib1", cards=8)), None
    assert server.do == "wait"
    client = pair.ask("gpu002", replace(OFFER, address="ib2", cards=4))
    server = pair.ask("gpu001", replace(OFFER, address="ib1", cards=8))

    assert server.trial == client.trial
    assert {(server.partner, server.address), (client.partner, client.address)} == {
        ("gpu002", "ib2"), ("gpu001", "ib1"),
    }  # fmt: skip
    assert server.serves is not client.serves
    assert server.trial is not None
    assert (server.trial.cards, server.trial.port) == (4, FIRST_PORT)


def test_asking_twice_names_the_same_trial(pair: LinkLab) -> None:
    pair.ask_all()
    pair.now += 10 * SECOND
    again = pair.ask("gpu001")

    assert again.trial == LinkTrial.objects.get()
    assert again.seconds == trial_seconds(1, True, 7) - 10


def test_the_next_trial_has_other_ports(pair: LinkLab) -> None:
    pair.ask_all()
    release_node(token=pair.token("gpu001"), hostname="gpu001", now=pair.now)
    pair.now += SECOND
    pair.take(["gpu001"])
    pair.ask_all()

    assert sorted(LinkTrial.objects.values_list("port", flat=True)) == [FIRST_PORT, FIRST_PORT + PORTS]


def test_a_partner_that_was_killed_costs_the_trial_and_nothing_else(pair: LinkLab) -> None:
    pair.ask_all()
    trial = LinkTrial.objects.get()
    pair.now = trial.until
    assert pair.ask("gpu001").do == "done"  # nobody else has asked for two minutes
    trial.refresh_from_db()

    assert (trial.ended_at, trial.problem) == (pair.now, f"{trial.server.hostname} did not say what it found")
    assert not LinkSide.objects.filter(open=True).exists()
    pair.derive()
    assert pair.rows() == {"gpu001": "unknown", "gpu002": "unknown"}


def test_the_end_that_lives_waits_half_a_minute_for_the_other_ends_word(pair: LinkLab) -> None:
    pair.ask_all()
    trial = LinkTrial.objects.get()
    pair.tell("gpu001", trial, told(None, problem="gpu002 did not come"))
    pair.now += 29 * SECOND
    assert pair.ask("gpu001").do == "wait"
    pair.now += SECOND

    assert pair.ask("gpu001").do == "done"
    trial.refresh_from_db()
    assert "gpu002 did not" in trial.problem


def test_a_node_that_yields_ends_its_trial_at_once(pair: LinkLab) -> None:
    pair.ask_all()
    pair.now += SECOND
    release_node(token=pair.token("gpu002"), hostname="gpu002", now=pair.now)

    assert pair.ask("gpu001").do in ("wait", "done")
    assert LinkTrial.objects.get().ended_at == pair.now


def test_nobody_is_kept_longer_than_its_claim() -> None:
    lab = link_lab(2)
    lab.take(minutes=5)
    lab.now += timedelta(seconds=300 - trial_seconds(1, True, 7))

    turn = lab.ask("gpu001")

    assert (turn.do, turn.why) == ("done", "too little time is left")


def test_a_first_node_waits_for_others_only_as_long_as_they_take_to_learn_of_the_window() -> None:
    lab = link_lab(3)
    lab.take(["gpu001", "gpu002"])
    assert [turn.do for turn in lab.ask_all(["gpu001", "gpu002"]).values()] == ["wait", "wait"]
    lab.now += timedelta(seconds=lab.cluster.interval_s + 60)
    lab.ask("gpu002")

    assert lab.ask("gpu001").do == "measure"


def test_a_node_that_comes_late_still_finds_partners_while_they_are_here(four: LinkLab) -> None:
    late = enrolled_machine(four.cluster, "gpu009")
    four.ask_all()
    four.now += 7 * MINUTE
    four.ask_all()  # who waited for others to come asks often, and does not wait any more
    turns = four.ask_all()
    assert {turn.do for turn in turns.values()} == {"measure"}
    four.machines["gpu009"] = late
    four.take(["gpu009"])
    assert four.ask("gpu009").do == "wait"
    four.now += MINUTE
    for name, turn in turns.items():
        if turn.trial is not None:
            four.tell(name, turn.trial, told(FAST))
    four.measure(lambda one, other: False)
    four.derive()

    assert four.row("gpu009").raw == "pass"


def test_nodes_of_another_cluster_are_no_partners(pair: LinkLab) -> None:
    other = link_lab_named_beta(pair)
    turns = {**pair.ask_all(), "beta1": other.ask("beta1")}

    assert {turn.partner for turn in turns.values()} == {"gpu001", "gpu002", ""}


def link_lab_named_beta(lab: LinkLab) -> LinkLab:
    """One node of another cluster, taken as well."""
    cluster = make_cluster("beta")
    window = lab.cluster.windows.get()
    set_window(
        cluster=cluster, kind=WindowKind.MAINTENANCE, opens=window.opens, closes=window.closes, by=None, reason="",
        now=NOON,
    )  # fmt: skip
    other = LinkLab(cluster, {"beta1": enrolled_machine(cluster, "beta1")})
    other.take()
    return other


def test_who_is_not_taken_for_it_gets_no_turn() -> None:
    lab = link_lab(1)

    with pytest.raises(CountersignError, match="claim it in a window first") as refused:
        lab.ask("gpu001")
    assert (refused.value.code, refused.value.status) == ("not_taken", 409)


def test_a_node_tells_of_its_own_trials_only(four: LinkLab) -> None:
    turns = four.ask_all()
    others = next(turn.trial for name, turn in turns.items() if "gpu001" not in (name, turn.partner))
    assert others is not None

    with pytest.raises(CountersignError, match="no part in trial") as refused:
        four.tell("gpu001", others, told(FAST))
    assert (refused.value.code, refused.value.status) == ("no_such_trial", 404)


def test_the_first_word_counts(pair: LinkLab) -> None:
    trial = pair.ask_all()["gpu001"].trial
    assert trial is not None
    for rate in (FAST, SLOW):
        pair.tell("gpu001", trial, told(rate))
    pair.tell("gpu002", trial, told(FAST))
    pair.derive()

    assert pair.rows() == {"gpu001": "pass", "gpu002": "pass"}


def test_a_run_that_was_cut_short_proves_nothing(pair: LinkLab) -> None:
    trial = pair.ask_all()["gpu001"].trial
    assert trial is not None
    for name in pair.machines:
        pair.tell(name, trial, told(FAST, flow_s=1.0))
    pair.derive()

    assert pair.row("gpu001").raw == "unknown"


def test_a_node_that_was_mended_is_measured_anew_and_passes(four: LinkLab) -> None:
    four.measure(lambda one, other: "gpu002" in (one, other))
    four.derive()
    assert four.row("gpu002").raw == "fail"
    for name in four.machines:
        release_node(token=four.token(name), hostname=name, now=four.now)
    four.now += timedelta(hours=1)
    four.take()
    four.measure(lambda one, other: False)
    four.derive()

    assert set(four.rows().values()) == {"pass"}
    assert not ScopeState.objects.filter(scope="link", raw="fail").exists()


def test_a_link_that_was_mended_passes_once_it_was_measured_again(four: LinkLab) -> None:
    partner = four.ask_all()["gpu001"].partner
    four.measure(lambda one, other: {one, other} == {"gpu001", partner})
    four.derive()
    assert link(four, "gpu001", partner).raw == "fail"
    for name in four.machines:
        release_node(token=four.token(name), hostname=name, now=four.now)
    four.now += timedelta(hours=1)
    four.take()
    four.measure(lambda one, other: False)
    four.derive()

    assert link(four, "gpu001", partner).raw == "pass"


def test_deriving_twice_changes_nothing(four: LinkLab) -> None:
    four.measure(lambda one, other: "gpu002" in (one, other))
    four.derive()
    before = list(ScopeState.objects.order_by("pk").values())
    four.now += ROUND
    four.derive()

    assert list(ScopeState.objects.order_by("pk").values()) == before


def test_a_token_of_no_node_measures_nothing(pair: LinkLab) -> None:
    gate = Token.objects.filter(kind=TokenKind.ENROLMENT).first()
    assert gate is not None
    with pytest.raises(CountersignError, match="agent's own"):
        next_turn(token=gate, hostname="gpu001", offer=OFFER, now=NOON)


def test_a_trial_takes_the_time_of_its_flows() -> None:
    """Eight cards, two directions, two memories, and twice all at once: 34 flows of 7 + 4 seconds, and the way."""
    assert trial_seconds(8, True, 7) == COME_S + 34 * 11


def test_a_node_that_is_retired_in_the_middle_keeps_its_partner_no_longer(pair: LinkLab) -> None:
    pair.ask_all()
    retire(pair, "gpu002")

    assert pair.ask("gpu001").do != "measure"
    assert LinkTrial.objects.get().ended_at == pair.now
    assert not LinkSide.objects.filter(open=True).exists()


def test_a_node_that_is_retired_while_it_waits_is_dealt_to_nobody() -> None:
    lab = link_lab(3)
    lab.take()
    lab.ask("gpu003")
    retire(lab, "gpu003")
    lab.ask("gpu001")
    lab.ask("gpu002")
    trial = LinkTrial.objects.select_related("server", "client").get()

    assert {trial.server.hostname, trial.client.hostname} == {"gpu001", "gpu002"}


def retire(lab: LinkLab, name: str) -> None:
    retire_node(node=lab.machines[name].node, by=person("ada"), reason="It burned.", now=lab.now)
