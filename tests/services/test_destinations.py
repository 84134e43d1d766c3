"""Messages reach those they are meant for, or are tried again; nothing of that holds up an act or tells a secret."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from pytest_django.fixtures import Settings

from checks.domain.verdicts import Layer
from checks.models import BreakerTrip, Notice, Role
from checks.selectors.notice_signs import notice_signs
from checks.selectors.signs import State
from checks.services.destinations import Destination, NotifyFileInvalid, destinations
from checks.services.notice_sending import GIVEN_UP_AFTER, KEPT, purge_notices, send_notices
from tests.lab import HOUR, MINUTE, NOON
from tests.noticed import Hook, readers, subjects, tell
from tests.signed import Signing, a_signable_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def signing(settings: Settings) -> Signing:
    settings.MAILS_PEOPLE = True
    settings.PORTAL_URL = "https://countersign.example.org"
    signing = a_signable_run()
    for role, someone in signing.people.items():
        someone.email = f"{role}@example.org"
        someone.save()
    return signing


@pytest.fixture
def hook() -> Iterator[Hook]:
    hook = Hook()
    yield hook
    hook.close()


@pytest.fixture
def told_to(settings: Settings, tmp_path: Path, hook: Hook) -> Path:
    """A NOTIFY_FILE that names the hook for helios, in Chinese."""
    file = tmp_path / "notify.toml"
    file.write_text(f'language = "zh-hans"\n[destinations]\nhelios = ["{hook.address}"]\n', encoding="utf-8")
    settings.NOTIFY_FILE = str(file)
    return file


def test_a_web_hook_of_the_cluster_is_told_in_the_language_of_the_file(
    signing: Signing, hook: Hook, told_to: Path
) -> None:
    signing.sign(Role.HARDWARE)
    tell()

    (said,) = hook.said
    assert "run-7" in said["title"]
    assert "Half signed" not in said["title"]
    assert "https://countersign.example.org/runs/run-7/sign/physical/" in said["message"]


def test_a_hook_of_another_cluster_hears_nothing(signing: Signing, hook: Hook, told_to: Path) -> None:
    told_to.write_text(f'[destinations]\nother = ["{hook.address}"]\n')
    signing.sign(Role.HARDWARE)
    tell()

    assert hook.said == []


def test_a_destination_that_refuses_is_tried_again_later_and_stands_on_status_without_its_secret(
    signing: Signing, hook: Hook, told_to: Path
) -> None:
    hook.status = 503
    signing.sign(Role.HARDWARE)
    assert readers(tell()) == {"platform@example.org"}
    (sign,) = notice_signs(now=NOON)
    assert (sign.place, sign.state, sign.waiting) == ("JSON (helios)", State.AMBER, 1)
    assert "503" in sign.error
    assert "secret-path" not in sign.error

    hook.status = 200
    assert send_notices(now=NOON + timedelta(seconds=29)) == 0
    assert send_notices(now=NOON + timedelta(seconds=31)) == 1
    assert notice_signs(now=NOON + MINUTE) == ()


def test_waits_grow_and_a_message_is_given_up_after_two_days(signing: Signing, hook: Hook, told_to: Path) -> None:
    hook.status = 500
    signing.sign(Role.HARDWARE)
    tell()
    send_notices(now=NOON + MINUTE)
    assert Notice.objects.get(person=None).due_at == NOON + 2 * MINUTE

    late = NOON + GIVEN_UP_AFTER + MINUTE
    send_notices(now=late)
    assert send_notices(now=late + HOUR) == 0
    assert [(one.waiting, one.given_up) for one in notice_signs(now=late)] == [(0, 1)]


def test_one_bad_destination_costs_one_try_a_round(signing: Signing, hook: Hook, told_to: Path) -> None:
    hook.status = 500
    signing.sign(Role.HARDWARE)
    signing.sign(Role.PLATFORM, Layer.SYSTEM)
    tell()

    assert len(hook.said) == 1


def test_a_mail_server_that_is_away_holds_up_nobody_and_is_told(signing: Signing, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    signing.sign(Role.HARDWARE)
    tell()

    (sign,) = notice_signs(now=NOON)
    assert (sign.place, sign.waiting) == ("mail", 1)
    assert "refused" in sign.error


def test_what_is_about_nodes_is_held_while_a_breaker_is_open_and_acts_are_not(signing: Signing) -> None:
    trip = BreakerTrip.objects.create(
        cluster=signing.cluster, item="gpu-ecc", tripped_at=NOON, last_flip_at=NOON, nodes=4, of_nodes=8
    )
    columns: dict[str, Any] = {
        "person": signing.people[Role.LEAD], "cluster": signing.cluster, "body": "", "created_at": NOON, "due_at": NOON,
    }  # fmt: skip
    Notice.objects.create(key="a", about_nodes=True, title="a node", **columns)
    Notice.objects.create(key="b", about_nodes=False, title="an act", **columns)
    send_notices(now=NOON)
    assert subjects(list(mail.outbox)) == {"[Countersign] an act"}

    trip.ended_at = NOON + MINUTE
    trip.save()
    send_notices(now=NOON + MINUTE)
    assert subjects(list(mail.outbox)) == {"[Countersign] an act", "[Countersign] a node"}


def test_an_act_whose_notice_cannot_even_be_written_is_done_all_the_same(
    signing: Signing, settings: Settings, tmp_path: Path
) -> None:
    settings.NOTIFY_FILE = str(tmp_path / "away.toml")
    signing.sign(Role.HARDWARE)

    assert readers(tell()) == {"platform@example.org"}


def test_a_message_is_forgotten_once_nobody_could_be_told_of_it_again(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)
    tell()
    assert purge_notices(now=NOON + KEPT - HOUR) == 0
    assert purge_notices(now=NOON + KEPT + HOUR) == 1


# The file


def read(settings: Settings, tmp_path: Path, text: str) -> tuple[Destination, ...]:
    file = tmp_path / "notify.toml"
    file.write_text(text, encoding="utf-8")
    settings.NOTIFY_FILE = str(file)
    return destinations().every


def test_the_chats_of_the_handbook_are_known(settings: Settings, tmp_path: Path) -> None:
    found = read(
        settings, tmp_path,
        """
        [destinations]
        "*" = ["slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general", "jsons://hooks.example.org/x"]
        helios = ["feishu://abcdefgh", "lark://abcdefgh", "dingtalk://abcdefgh/", "wecombot://abcdef-1234"]
        """,
    )  # fmt: skip
    assert [one.shown for one in found] == [
        "Slack (*)", "JSON (*)", "Feishu (helios)", "Lark (Feishu) (helios)", "DingTalk (helios)", "WeCom Bot (helios)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("destinations = 3", "a table of lists"),
        ('[destinations]\n"*" = "json://h/x"', "is a list of addresses"),
        ('[destinations]\n"*" = ["json://h/x", "nonsense://secret"]', r"address 2 of '\*' is none that apprise knows"),
        ('language = "fr"', "language is 'en' or 'zh-hans'"),
        ('place = "x"', "'place' means nothing"),
        ("[[[", "is no TOML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place_and_without_the_address(
    settings: Settings, tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(NotifyFileInvalid, match=said) as refused:
        read(settings, tmp_path, text)

    assert "secret" not in str(refused.value)


def test_an_address_that_is_refused_is_printed_nowhere(
    settings: Settings, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotifyFileInvalid):
        read(settings, tmp_path, '[destinations]\n"*" = ["slack://my-secret"]')

    assert "my-secret" not in "".join(capfd.readouterr())
