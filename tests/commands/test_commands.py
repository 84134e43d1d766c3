"""The portal's own commands: clusters, tokens, people."""

from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from checks.models import Cluster, LedgerEntry, Membership, Role, TokenKind
from checks.selectors.rules import ruleset_for
from checks.services.catalog import load_catalogue
from checks.services.tokens import BadToken, authenticate

pytestmark = pytest.mark.django_db
CATALOGUE = Path(settings.BASE_DIR) / "checks" / "catalog"


def manage(*arguments: str) -> str:
    said = StringIO()
    call_command(*arguments, stdout=said)
    return said.getvalue().strip()


@pytest.fixture(autouse=True)
def catalogue() -> None:
    load_catalogue(path=CATALOGUE, by=None, now=timezone.now())


@pytest.fixture
def helios() -> Cluster:
    manage("cluster", "create", "helios", "--profile", "8xh100", "--interval", "60")
    return Cluster.objects.get(slug="helios")


def test_a_cluster_is_created_with_the_settings_it_was_given(helios: Cluster) -> None:
    assert (helios.profile, helios.interval_s, helios.accept_replay) == ("8xh100", 60, False)


def test_an_unknown_profile_is_refused_and_leaves_no_cluster() -> None:
    with pytest.raises(CommandError, match="9xh100"):
        manage("cluster", "create", "helios", "--profile", "9xh100")
    assert not Cluster.objects.exists()


def test_a_setting_out_of_bounds_is_refused_and_leaves_no_half_made_cluster() -> None:
    with pytest.raises(CommandError, match="cluster_interval_5_to_3600_s"):
        manage("cluster", "create", "helios", "--profile", "8xh100", "--interval", "2")
    assert not Cluster.objects.exists()


def test_the_gap_between_measurements_that_settle_a_verdict_is_a_setting(helios: Cluster) -> None:
    manage("cluster", "set", "helios", "--settle-gap", "5")
    helios.refresh_from_db()
    assert helios.min_settle_gap_s == 5


def test_a_cluster_says_that_every_link_is_measured(helios: Cluster) -> None:
    assert "measures every link" in manage("cluster", "set", "helios", "--every-link")
    assert "measures every link" not in manage("cluster", "set", "helios", "--no-every-link")


def test_no_gap_is_no_setting() -> None:
    with pytest.raises(CommandError, match="cluster_settle_gap_at_least_1_s"):
        manage("cluster", "create", "helios", "--profile", "8xh100", "--settle-gap", "0")


def test_changing_a_cluster_names_what_is_in_force_and_keeps_the_reason(helios: Cluster) -> None:
    said = manage("cluster", "set", "helios", "--profile", "8xh200", "--reason", "the nodes were replaced")

    assert "8xh200" in said
    assert LedgerEntry.objects.filter(what="profile_changed", reason="the nodes were replaced").exists()


def test_a_cluster_says_where_its_jobs_find_their_software_and_is_judged_by_it(helios: Cluster) -> None:
    before = ruleset_for(helios)

    manage("cluster", "set", "helios", "--training-env", "none", "--reason", "jobs bring their own")

    helios.refresh_from_db()
    assert before.applies("python-env-uniform")
    assert not ruleset_for(helios).applies("python-env-uniform")
    assert LedgerEntry.objects.filter(what="training_env_changed", reason="jobs bring their own").exists()


def test_a_new_cluster_can_name_its_training_environment() -> None:
    manage("cluster", "create", "selene", "--profile", "8xh100", "--training-env", "container")

    assert ruleset_for(Cluster.objects.get(slug="selene")).applies("image-uniform")


def test_a_wrong_cluster_name_lists_the_right_ones(helios: Cluster) -> None:
    with pytest.raises(CommandError, match="there are: helios"):
        manage("token", "issue", "gate", "--cluster", "heliso")


def test_a_closed_cluster_is_off_the_list_and_its_name_stays_taken(helios: Cluster) -> None:
    manage("cluster", "close", "helios", "--reason", "given back to the provider")

    assert manage("cluster", "list") == ""
    assert LedgerEntry.objects.filter(what="cluster_closed", reason="given back to the provider").count() == 1
    with pytest.raises(CommandError, match="already a cluster 'helios'"):
        manage("cluster", "create", "helios", "--profile", "8xh100")


def test_an_issued_gate_token_is_the_only_line_and_works(helios: Cluster) -> None:
    text = manage("token", "issue", "gate", "--cluster", "helios")

    token = authenticate(bearer=text, kinds=[TokenKind.GATE], address=None, now=timezone.now())
    assert list(token.clusters.all()) == [helios]


def test_an_enrolment_token_ends_by_itself(helios: Cluster) -> None:
    text = manage("token", "issue", "enrolment", "--cluster", "helios", "--hours", "0.5", "--uses", "3")

    token = authenticate(bearer=text, kinds=[TokenKind.ENROLMENT], address=None, now=timezone.now())
    assert token.expires_at is not None
    assert (token.expires_at - token.created_at).total_seconds() == 1800
    assert token.uses_left == 3


def test_a_revoked_token_works_no_more(helios: Cluster) -> None:
    text = manage("token", "issue", "gate", "--cluster", "helios")
    manage("token", "revoke", text.split("_")[2])

    with pytest.raises(BadToken):
        authenticate(bearer=text, kinds=[TokenKind.GATE], address=None, now=timezone.now())


def test_a_person_gets_a_password_once_and_a_role_that_is_in_the_ledger(helios: Cluster) -> None:
    username, password = manage("person", "add", "hana", "--role", "hardware", "--cluster", "helios").split()

    assert get_user_model().objects.get(username=username).check_password(password)
    assert Membership.objects.filter(user__username="hana", cluster=helios, role=Role.HARDWARE).exists()
    assert LedgerEntry.objects.filter(what="role_granted", cluster=helios).exists()


def test_a_person_of_the_identity_provider_gets_an_address_and_no_password() -> None:
    assert manage("person", "add", "ida", "--email", "ida@example.org", "--single-sign-on").strip() == "ida"
    ida = get_user_model().objects.get(username="ida")

    assert (ida.email, ida.has_usable_password()) == ("ida@example.org", False)


def test_an_address_is_changed_and_what_is_none_is_refused() -> None:
    manage("person", "add", "ida")
    manage("person", "address", "ida", "ida@example.org")
    assert get_user_model().objects.get(username="ida").email == "ida@example.org"
    assert LedgerEntry.objects.get(what="address_changed").data == {"before": "", "after": "ida@example.org"}
    with pytest.raises(CommandError, match="valid email"):
        manage("person", "address", "ida", "at home")


def test_a_taken_name_is_refused_in_one_sentence(helios: Cluster) -> None:
    manage("person", "add", "hana")
    with pytest.raises(CommandError, match="already somebody called 'hana'"):
        manage("person", "add", "hana")


def test_a_closed_account_is_closed_with_a_reason_and_opened_again_with_one(helios: Cluster) -> None:
    manage("person", "add", "hana")
    manage("person", "close", "hana", "--reason", "left the company")
    people = get_user_model().objects
    closed = people.get(username="hana")
    manage("person", "close", "hana", "--reason", "twice changes nothing")
    manage("person", "reopen", "hana", "--reason", "came back")
    acts = LedgerEntry.objects.filter(what__startswith="account_").order_by("seq").values_list("what", "reason")

    assert not closed.is_active
    assert people.get(username="hana").is_active
    assert [*acts] == [("account_closed", "left the company"), ("account_opened", "came back")]


def test_an_ended_role_is_gone_and_says_why(helios: Cluster) -> None:
    manage("person", "add", "hana", "--role", "lead", "--cluster", "helios")
    manage("person", "end", "hana", "--role", "lead", "--cluster", "helios", "--reason", "moved on")

    assert not Membership.objects.exists()
    assert LedgerEntry.objects.filter(what="role_ended", reason="moved on").exists()
