"""From an act to a chat: the outbox, a real worker, a real web hook, and no word of the address in its log."""

from pathlib import Path

import pytest
from django.utils import timezone

from checks.models import Notice, Role
from checks.services.people import grant_role
from tests.celery.conftest import StartProgram, wait_until
from tests.lab import lab
from tests.noticed import Hook
from tests.people import person

pytestmark = pytest.mark.valkey


def test_a_worker_tells_a_hook_of_an_act_and_its_log_keeps_the_address(
    start_celery: StartProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = Hook()
    file = tmp_path / "notify.toml"
    file.write_text(f'[destinations]\n"*" = ["{hook.address}"]\n', encoding="utf-8")
    monkeypatch.setenv("NOTIFY_FILE", str(file))
    start_celery("worker", "--concurrency=1", "--loglevel=DEBUG")
    grant_role(user=person("ida"), cluster=lab(), role=Role.DATA, by=None, now=timezone.now())

    wait_until(lambda: bool(hook.said), "The hook was told")
    hook.close()

    assert hook.said[0]["title"].startswith("ida is now data engineer in ")
    wait_until(lambda: Notice.objects.filter(sent_at__isnull=False).count() == 1, "The message was marked as sent")
    assert "secret-path" not in (tmp_path / "celery.log").read_text()
