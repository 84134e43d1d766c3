"""Two ends of a trial on one machine, with a stand-in for perftest: what is told, and what never waits for ever."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.config import Config
from readiness_agent.facts import CouldNotMeasure
from readiness_agent.offline import links, perftest
from readiness_agent.offline.bench import Bench, OfflineProbe
from readiness_agent.offline.links import measure_links
from readiness_agent.offline.perftest import Card, Gear, Trial, command, flows_of, gear_of
from readiness_agent.offline.session import Watch, run_session
from readiness_agent.offline.turns import Done, Offer, Turn, Turns, Wait, checked_turn, port_range
from readiness_agent.parsers.pcie import payload_rate
from readiness_agent.probes import rdma_devices
from readiness_agent.source import LiveSource
from tests.agents.offline.stand_in_perftest import install, make_card

NDR = Card("nic0", "mlx5_0", "1", True, 400.0, 504.123)
GEAR = Gear((NDR,), True, None, 8)
PORT = 21515


def turn(*, serves: bool, port: int = PORT, flow_s: int = 3, cards: int = 1, seconds: float = 120.0) -> Turn:
    return Turn(1, serves, "gpu002", "127.0.0.1", port, cards, True, flow_s, seconds)


@pytest.fixture
def fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``ib_write_bw`` of a card that reaches 392 Gb/s."""
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin', 392.0)}:{os.environ['PATH']}")


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ``/sys/class/infiniband``."""
    root = tmp_path / "infiniband"
    root.mkdir()
    monkeypatch.setattr(rdma_devices, "ROOT", str(root))
    monkeypatch.setattr(perftest, "ROOT", str(root))
    monkeypatch.setattr(rdma_devices, "PORT_STATES", f"{root}/*/ports/*/state")
    return root


@pytest.mark.usefixtures("fast")
def test_both_ends_measure_what_they_write_from_either_memory_and_all_at_once() -> None:
    gear = Gear((NDR, NDR._replace(name="nic1", device="mlx5_1")), True, None, 8)
    told: dict[bool, dict[str, Any]] = {}

    def end(serves: bool) -> None:
        told[serves] = Trial(LiveSource(), gear, turn(serves=serves, cards=2)).run()

    other = threading.Thread(target=end, args=(False,))
    other.start()
    end(True)
    other.join(60)

    card = {"rate": 400.0, "pcie": 504.123, "mtu": 4096, "infiniband": True, "host": 392.0, "gpu": 392.0}
    for serves in (True, False):
        assert told[serves]["problem"] == ""
        assert told[serves]["cards"] == [{"number": 0, **card}, {"number": 1, **card}]
        assert told[serves]["together"] == 784.0
        assert (told[serves]["message_size"], told[serves]["seconds"]) == (1048576, 1.0)


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("serves", [True, False])
def test_a_partner_that_never_comes_is_named_and_nobody_waits_for_ever(
    serves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perftest, "COME_FIRST", 1.0)
    begun = time.monotonic()
    told = Trial(LiveSource(), GEAR, turn(serves=serves, port=PORT + 200)).run()

    assert told["problem"] == "gpu002 did not come"
    assert told["cards"] == []
    assert time.monotonic() - begun < 10


@pytest.mark.usefixtures("fast")
def test_a_trial_ends_with_its_time() -> None:
    begun = time.monotonic()
    told = Trial(LiveSource(), GEAR, turn(serves=True, port=PORT + 300, seconds=1.0)).run()

    assert told["problem"] == "gpu002 did not come"
    assert time.monotonic() - begun < 5


def test_packets_that_do_not_get_across_are_told_in_perftests_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin', 392.0, fails=True)}:{os.environ['PATH']}")
    told = Trial(LiveSource(), GEAR, turn(serves=False, port=PORT + 400)).run()

    assert told["problem"] == "nic0: work completion status 12 (transport retry counter exceeded)"


def test_flows_go_through_cards_directions_and_memories_and_no_port_comes_twice() -> None:
    flows = list(flows_of(turn(serves=True, cards=8)))
    ports = [flow.port + place for flow in flows for place in range(len(flow.cards))]

    assert len(flows) == 34
    assert sorted(ports) == list(range(PORT, PORT + 48))
    assert [flow.from_gpu for flow in flows] == [False] * 16 + [True] * 16 + [False] * 2
    assert [flow.cards for flow in flows[-2:]] == [tuple(range(8))] * 2


def test_a_command_is_a_list_of_plain_arguments() -> None:
    flows = list(flows_of(turn(serves=False)))

    assert command(GEAR, NDR, flows[0], 0, turn(serves=False, flow_s=7), "10.0.0.2") == (
        "ib_write_bw", "-d", "mlx5_0", "-i", "1", "-p", "21515", "-s", "1048576", "-D", "7", "-f", "1",
        "--report_gbits", "-F", "10.0.0.2",
    )  # fmt: skip
    roce = Gear((NDR,), True, 3, 4)
    said = command(roce, NDR._replace(infiniband=False), flows[2], 0, turn(serves=False), "")
    assert said[:2] == ("env", "CUDA_DEVICE_ORDER=PCI_BUS_ID")
    assert said[-3:] == ("-x", "3", "--use_cuda=0")


@pytest.mark.usefixtures("fast")
def test_gear_is_what_sysfs_and_perftest_show(sysfs: Path) -> None:
    make_card(sysfs, "mlx5_0")
    make_card(sysfs, "mlx5_3", pci="0000:1b:00.0")
    gear = gear_of(LiveSource(), "")

    assert [(card.name, card.device) for card in gear.cards] == [("nic0", "mlx5_3"), ("nic1", "mlx5_0")]
    assert (gear.cards[0].rate, round(gear.cards[0].pcie, 1), gear.cards[0].infiniband) == (400.0, 504.1, True)
    assert gear.gpu_memory
    assert [card.device for card in gear_of(LiveSource(), "mlx5_0").cards] == ["mlx5_0"]


@pytest.mark.usefixtures("fast")
def test_a_card_that_is_not_there_is_missing(sysfs: Path) -> None:
    make_card(sysfs, "mlx5_0")

    with pytest.raises(CouldNotMeasure, match="names one that does not train; there are: mlx5_0"):
        gear_of(LiveSource(), "mlx5_7")


def test_without_perftest_the_item_is_missing_and_no_pass(sysfs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_card(sysfs, "mlx5_0")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("readiness_agent.command.SYSTEM_PATHS", "/nonexistent")

    with pytest.raises(CouldNotMeasure, match="ib_write_bw: not installed") as error:
        gear_of(LiveSource(), "")
    assert error.value.kind == "missing"


def test_a_perftest_that_knows_no_gpu_offers_none(sysfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_card(sysfs, "mlx5_0")
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin', 392.0, cuda=False)}:{os.environ['PATH']}")

    assert not gear_of(LiveSource(), "").gpu_memory


def test_without_a_portal_there_is_no_partner() -> None:
    with pytest.raises(CouldNotMeasure, match="leave out --no-push"):
        measure_links(Bench(LiveSource(), Config(portal=""), 10.0, ""))


GOOD_TURN: dict[str, Any] = {
    "do": "measure", "seconds": 100, "trial": 7, "role": "server", "partner": "gpu002", "address": "10.0.0.2",
    "port": 18515, "cards": 1, "gpu_memory": True, "flow_s": 7,
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"address": "-x; reboot"}, {"address": "--out_json_file=/etc/passwd"}, {"partner": "$(id)"}, {"port": 22},
        {"port": 18900}, {"port": "18515"}, {"cards": 9}, {"flow_s": 3600}, {"role": "root"}, {"trial": None},
        {"address": ""}, {"port": 18515.5},
    ],
)  # fmt: skip
def test_a_portal_that_asks_for_anything_else_is_not_obeyed(wrong: dict[str, Any]) -> None:
    offer = Offer("gpu001", 2, True, 7)
    assert checked_turn(GOOD_TURN, offer, (18515, 19026)).port == 18515

    with pytest.raises(CouldNotMeasure, match="the portal"):
        checked_turn({**GOOD_TURN, **wrong}, offer, (18515, 19026))


def test_a_partner_may_be_called_by_any_name_that_a_node_enrols_under() -> None:
    called = checked_turn({**GOOD_TURN, "partner": "gpu_002.rack-1"}, Offer("gpu001", 2, True, 7), (18515, 19026))

    assert called.partner == "gpu_002.rack-1"


@pytest.mark.parametrize("text", ["", "80-90", "18515", "19000-18515", "18515-99999", "18515-19026; id"])
def test_ports_of_the_configuration_are_a_range(text: str) -> None:
    with pytest.raises(CouldNotMeasure, match="write it like 18515-19026"):
        port_range(Config(portal="", rdma_ports=text))


class Script(Turns):
    """A portal that answers what it was told to, and keeps what it hears."""

    def __init__(self, *answers: Any) -> None:
        self.hostname = "gpu001"
        self.answers = list(answers)
        self.told: list[tuple[int, dict[str, Any]]] = []

    def next(self, offer: Offer) -> Any:
        return self.answers.pop(0)

    def tell(self, trial: int, outcome: dict[str, Any]) -> None:
        self.told.append((trial, outcome))


def test_the_report_says_what_each_card_wrote_at_its_best(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([380.0, 391.5])
    outcome = {"number": 0, "gpu": 360.0}
    monkeypatch.setattr(links, "gear_of", lambda *_: GEAR)
    monkeypatch.setattr(
        Trial, "run", lambda self: {"cards": [{**outcome, "host": next(rates)}], "problem": "", "together": None}
    )
    script = Script(Wait(0.01), turn(serves=True), turn(serves=False), Done("nothing is left to measure"))
    result = measure_links(Bench(LiveSource(), Config(portal=""), 60.0, "", script))

    said = {(fact.subject, fact.name): (fact.value, fact.unit) for fact in result.facts}
    assert said == {
        ("", "trials"): (2, "count"), ("nic0", "host_bandwidth"): (391.5, "Gb/s"),
        ("nic0", "gpu_bandwidth"): (360.0, "Gb/s"), ("nic0", "rate"): (400.0, "Gb/s"),
    }  # fmt: skip
    assert result.problems == ()
    assert [trial for trial, _ in script.told] == [1, 1]


def test_a_node_for_which_no_partner_was_free_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "gear_of", lambda *_: GEAR)
    result = measure_links(Bench(LiveSource(), Config(portal=""), 0.2, "", Script(Wait(0.1), Wait(0.2), Wait(0.1))))

    assert [problem.detail for problem in result.problems] == [
        "no link was measured: the time was over before a partner was free"
    ]


@pytest.mark.usefixtures("fast")
def test_a_server_that_listens_is_gone_within_five_seconds_of_a_yield(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "gear_of", lambda *_: GEAR)
    script = Script(turn(serves=True, port=PORT + 500))
    probe = OfflineProbe("links", ("rdma-bandwidth",), 60.0, measure_links)
    seen: list[float] = []

    def stranger(own: Any) -> str:
        if not any("ib_write_bw" in _line(pid) for pid in own()):
            return ""
        seen.append(time.monotonic())
        return "job 4711 is on this node"

    watch = Watch(stranger, lambda: 3600.0, every=0.2)
    outcomes = run_session([probe], lambda seconds: Bench(LiveSource(), Config(portal=""), seconds, "", script), watch)

    assert time.monotonic() - seen[0] < 5
    assert outcomes[0].result.problems[0].detail == "links: yielded: job 4711 is on this node"
    running = [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]
    assert not [pid for pid in running if f"{PORT + 500}" in _line(pid)]


def _line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_lanes_carry_what_their_encoding_leaves() -> None:
    assert payload_rate("32.0 GT/s PCIe", 16) == pytest.approx(504.123, abs=0.001)
    assert payload_rate("5.0 GT/s", 8) == 32.0
    assert payload_rate("Unknown", 16) is None
