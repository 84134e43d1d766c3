"""docker-compose.yml, as far as it can be held without containers."""

from typing import Any

import pytest
import yaml

from checks.services.attested_files import MOST_BYTES, MOST_FILES
from portal.celery import app as celery
from tests.architecture.source_files import ROOT

OURS = ("migrate", "web", "worker", "beat")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    return found


def test_only_the_migration_gets_the_owners_password(services: dict[str, Any]) -> None:
    holders = [name for name in OURS if "owner_password" in services[name]["secrets"]]
    assert holders == ["migrate"]


def test_the_key_of_the_ledger_is_where_it_signs_or_is_checked_and_never_where_requests_come_in(
    services: dict[str, Any],
) -> None:
    holders = [name for name in OURS if "ledger_key" in services[name]["secrets"]]
    assert holders == ["migrate", "worker"]
    assert all(services[name]["environment"]["LEDGER_KEY_FILE"] == "/run/secrets/ledger_key" for name in holders)


def test_the_worker_can_write_where_anchors_are_told(services: dict[str, Any]) -> None:
    assert services["worker"]["environment"]["LEDGER_ANCHORS"] == "${LEDGER_ANCHORS:-/anchors}"
    assert services["worker"]["volumes"] == ["./anchors:/anchors"]


def test_web_processes_can_write_where_files_of_people_are_kept(services: dict[str, Any]) -> None:
    """Their own file system is read-only; the folder outlives the container."""
    assert services["web"]["volumes"] == ["./evidence:/app/var/evidence"]
    assert "COUNTERSIGN_VAR" not in services["web"]["environment"]
    assert [name for name in OURS if services[name].get("read_only")] == [*OURS]


def test_addresses_of_chats_are_where_they_are_used_or_checked_and_never_where_requests_come_in(
    services: dict[str, Any],
) -> None:
    assert [name for name in OURS if "notify" in services[name]["secrets"]] == ["migrate", "worker"]
    assert services["worker"]["environment"]["NOTIFY_FILE"] == "/run/secrets/notify"


def test_people_sign_in_at_the_identity_provider_through_web_processes(services: dict[str, Any]) -> None:
    assert [name for name in OURS if "oidc_client_secret" in services[name]["secrets"]] == ["migrate", "web"]
    assert services["web"]["environment"]["OIDC_CLIENT_SECRET_FILE"] == "/run/secrets/oidc_client_secret"


def test_no_secret_stands_in_the_environment(services: dict[str, Any]) -> None:
    for name in services:
        for variable in services[name].get("environment", {}):
            if any(word in variable for word in ("PASSWORD", "SECRET", "PEPPER", "KEY")):
                assert variable.endswith("_FILE"), f"{name}: {variable}"


def test_every_lasting_service_has_a_health_check(services: dict[str, Any]) -> None:
    assert [name for name in services if name != "migrate" and "healthcheck" not in services[name]] == []


def test_our_programs_write_nowhere_and_hold_no_capability(services: dict[str, Any]) -> None:
    for name in OURS:
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]


def test_the_web_port_is_open_on_loopback_only(services: dict[str, Any]) -> None:
    assert services["web"]["ports"] == ["127.0.0.1:8000:8000"]
    assert [name for name in services if "ports" in services[name]] == ["web"]


def test_only_the_network_of_the_project_itself_is_believed_about_addresses(services: dict[str, Any]) -> None:
    whole = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    (network,) = whole["networks"]["default"]["ipam"]["config"]

    assert {services[name]["environment"]["TRUSTED_PROXIES"] for name in OURS} == {network["subnet"]}


def test_the_nginx_sample_holds_bodies_back_and_overwrites_what_a_caller_says_of_itself() -> None:
    lines = [line.strip() for line in (ROOT / "docs/examples/nginx.conf").read_text(encoding="utf-8").splitlines()]

    assert "proxy_set_header X-Forwarded-For $remote_addr;" in lines
    assert any(line.startswith("proxy_request_buffering on;") for line in lines)
    assert "proxy_next_upstream off;" in lines
    for place, size in (("/", "110m"), ("/api/", "8m")):
        assert lines[lines.index(f"location {place} {{") + 1].startswith(f"client_max_body_size {size};")


def test_what_people_may_attach_at_once_gets_through_the_nginx_sample() -> None:
    assert MOST_FILES * MOST_BYTES < 110 * 1024 * 1024


@pytest.mark.parametrize("kept", ["secrets", "evidence", ".env", "*.dump", "secrets-*.tar.gz"])
def test_what_operators_keep_beside_the_checkout_gets_into_no_image_and_no_commit(kept: str) -> None:
    assert kept in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert kept in [line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()]


def test_queued_tasks_are_never_evicted(services: dict[str, Any]) -> None:
    command = services["broker"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"
    assert command[command.index("--appendonly") + 1] == "yes"


def test_it_makes_the_same_two_roles_as_the_quickstart(services: dict[str, Any]) -> None:
    mounted = [volume.partition(":")[0] for volume in services["postgres"]["volumes"]]
    assert "./portal/quickstart/roles.sql" in mounted
    assert all((ROOT / source).is_file() for source in mounted if source.startswith("./"))


@pytest.mark.parametrize("name", ["worker", "beat"])
def test_what_no_request_reaches_is_judged_by_its_sign_of_life(services: dict[str, Any], name: str) -> None:
    assert services[name]["healthcheck"]["test"] == ["CMD", "python", "manage.py", "status", "--only", name]


def test_a_worker_is_given_time_to_finish_what_it_has_begun(services: dict[str, Any]) -> None:
    assert int(services["worker"]["stop_grace_period"].removesuffix("s")) > celery.conf.worker_soft_shutdown_timeout


def test_what_is_deployed_has_been_checked_before_the_first_migration(services: dict[str, Any]) -> None:
    steps = services["migrate"]["command"][-1].split("&&")
    assert [step.split()[2] for step in steps] == ["check", "migrate", "catalog", "prices", "incidents"]
    assert "--deploy --fail-level ERROR --database default" in steps[0]
