"""The same code runs in A and not in B: what tells the clusters apart comes first, and no noise shows."""

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.pages import sign_in
from tests.journeys.settings import Settings, tell_all
from tests.journeys.user import Agent, ClusterOfMine, Portal

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("two-clusters")]

SETTINGS, NAMED, UNNAMED, NODES = 1500, 150, 50, 16
#: What the two clusters differ in, A and B: seven settings of 1,500.
SEVEN = {
    "env:NCCL_ALGO": ("Ring", "Tree"),
    "sysctl:net.core.netdev_max_backlog": ("250000", "1000"),
    "sysctl:kernel.numa_balancing": ("0", "1"),
    "cmdline:iommu": ("off", "pt"),
    "kernel:transparent_hugepage.enabled": ("madvise", "always"),
    "nic:mlx5_0.fw_ver": ("28.39.1002", "28.36.1010"),
    "package:libnccl2": ("2.21.5-1", "2.20.5-1"),
}
KINDS = ("cmdline", "env", "kernel", "nic", "package", "sysctl")
CHANGED = {"kernel.numa_balancing": "9", "net.core.somaxconn": "128", "vm.swappiness": "61"}


def settings_of(side: int, place: int) -> Settings:
    """What node number *place* of one side is set to: 200 of its settings are its own."""
    own = str(side * 1000 + place)
    alike = {f"sysctl:plain.group{n % 9}.setting{n}": str(n) for n in range(SETTINGS - len(SEVEN) - NAMED - UNNAMED)}
    named = {f"sysctl:user.max_things{n}": own for n in range(NAMED)}
    unnamed = {f"sysctl:drawn.lots.number{n}": f"{own}{n}" for n in range(UNNAMED)}
    return alike | named | unnamed | {name: values[side] for name, values in SEVEN.items()}


@pytest.fixture(scope="module")
def apart(portal: Portal) -> None:
    """Two clusters of sixteen nodes that have told what they are set to."""
    for side, slug in enumerate(("aster", "boron")):
        cluster = portal.cluster(slug, profile="8xh200")
        tell_all(cluster, {f"{slug}-{n:02d}": settings_of(side, n) for n in range(NODES)}, KINDS)


def rows(page: Page) -> list[str]:
    """The settings that the page lists, in its order."""
    return page.get_by_role("table", name="Ranked by suspicion").locator("tbody th").all_inner_texts()


def test_seven_settings_of_1500_come_first_and_nothing_else_shows(portal: Portal, apart: None, page: Page) -> None:
    sign_in(page, portal)
    page.goto(f"{portal.url}/drift/?a=aster&b=boron")

    assert rows(page) == [
        "NCCL_ALGO", "kernel.numa_balancing", "net.core.netdev_max_backlog", "iommu", "transparent_hugepage.enabled",
        "mlx5_0.fw_ver", "libnccl2",
    ]  # fmt: skip
    head = page.get_by_role("region", name="In short")
    for said in ("7 settings", "1,293", "150", "32 of 32"):
        expect(head).to_contain_text(said)
    first = page.get_by_role("table", name="Ranked by suspicion").get_by_role("row").nth(1)
    for said in ("Ring", "Tree", "16 of 16"):
        expect(first).to_contain_text(said)


def test_the_comparison_fits_a_telephone(portal: Portal, apart: None, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page, portal)
    page.goto(f"{portal.url}/drift/?a=aster&b=boron")

    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


@pytest.fixture(scope="module")
def twin(shared_captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture of a real machine with two H200, with three of its settings changed."""
    place = tmp_path_factory.mktemp("twin")
    for file in (shared_captures / "h200x2").iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    listing = place / "sysctl.txt"
    lines = listing.read_text().splitlines()
    mended = [f"{name} = {CHANGED.get(name, value)}" for name, _, value in (line.partition(" = ") for line in lines)]
    assert sum(old != new for old, new in zip(lines, mended, strict=True)) == len(CHANGED)
    listing.write_text("\n".join(mended) + "\n")
    return place


def replay(cluster: ClusterOfMine, capture: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Enrol a replayed node and push the capture as its own."""
    home.mkdir(mode=0o700)
    agent = Agent(home)
    enrolled = agent(
        "enroll", "--portal", cluster.portal.url, "--token-file", "-", "--origin", "replay", "--hostname", "h200",
        stdin=cluster.enrolment_token,
    )  # fmt: skip
    assert enrolled.returncode == 0, enrolled.stderr
    return agent("replay", str(capture))


def test_a_real_capture_against_its_twin_shows_the_three_settings_that_were_changed(
    portal: Portal, shared_captures: Path, twin: Path, tmp_path: Path, page: Page
) -> None:
    for slug, capture in (("real", shared_captures / "h200x2"), ("twin", twin)):
        done = replay(portal.cluster(slug, profile="2xh200-virtual"), capture, tmp_path / slug)
        assert done.returncode == 0, done.stderr
    sign_in(page, portal)
    page.goto(f"{portal.url}/drift/?a=real&b=twin")

    assert sorted(rows(page)) == sorted(CHANGED)
