"""Tokens: kept as an HMAC, told apart by their key, refused alike."""

from datetime import timedelta

import pytest
from django.conf import LazySettings

from checks.domain.errors import CountersignError
from checks.models import LedgerEntry, Token, TokenKind
from checks.services.tokens import BadToken, authenticate, comes_from, issue_token, parse_bearer, revoke_token
from tests.factories import NOON, make_cluster

pytestmark = pytest.mark.django_db


def issue(**limits: object) -> tuple[Token, str]:
    return issue_token(kind=TokenKind.GATE, created_by=None, now=NOON, **limits)  # type: ignore[arg-type]


def accepts(text: str, *, kinds: tuple[str, ...] = ("gate",), address: str | None = None, after: int = 0) -> bool:
    try:
        authenticate(bearer=text, kinds=kinds, address=address, now=NOON + timedelta(seconds=after))
    except BadToken:
        return False
    return True


def test_the_text_names_kind_and_key_and_the_secret_is_not_stored() -> None:
    token, text = issue()

    assert text.startswith(f"cs_gate_{token.key}_")
    assert parse_bearer(text).secret not in str(Token.objects.values().get())


def test_a_token_is_accepted_for_its_own_kind_only() -> None:
    _, text = issue()

    assert accepts(text)
    assert not accepts(text, kinds=("operator",))
    assert not accepts(text.replace("cs_gate_", "cs_operator_"), kinds=("operator",))


def test_a_token_ends_in_its_last_second() -> None:
    _, text = issue(expires_at=NOON + timedelta(seconds=10))

    assert [accepts(text, after=9), accepts(text, after=10)] == [True, False]


def test_a_token_that_is_used_up_is_refused() -> None:
    _, text = issue(uses_left=0)

    assert not accepts(text)


def test_a_revoked_token_is_refused_and_the_act_is_written_down() -> None:
    token, text = issue()
    revoke_token(token=token, by=None, reason="left the team", now=NOON)

    assert not accepts(text)
    assert LedgerEntry.objects.filter(what="token_revoked", reason="left the team").exists()


def test_a_token_bound_to_networks_is_refused_from_elsewhere() -> None:
    _, text = issue(networks=["10.1.0.0/16"])

    assert accepts(text, address="10.1.2.3")
    assert not accepts(text, address="10.2.0.1")
    assert not accepts(text, address=None)


def test_an_ipv4_address_written_as_ipv6_is_the_same_address() -> None:
    assert comes_from("::ffff:10.1.2.3", ["10.1.0.0/16"])


def test_a_network_that_is_none_is_refused_with_an_example() -> None:
    with pytest.raises(CountersignError, match=r"10\.0\.0\.0/8"):
        issue(networks=["the office"])


def test_an_old_pepper_checks_old_tokens_and_the_newest_makes_new_ones(settings: LazySettings) -> None:
    _, old = issue()
    settings.TOKEN_PEPPERS = {**settings.TOKEN_PEPPERS, 2: "for tests only: pepper two, 32 characters"}
    new_token, new = issue()

    assert accepts(old)
    assert accepts(new)
    assert new_token.pepper == 2


def test_a_pepper_that_was_taken_away_ends_its_tokens(settings: LazySettings) -> None:
    _, text = issue()
    settings.TOKEN_PEPPERS = {2: "for tests only: pepper two, 32 characters"}

    assert not accepts(text)


def test_a_gate_token_may_be_bound_to_several_clusters() -> None:
    clusters = [make_cluster("alpha"), make_cluster("beta")]
    token, _ = issue(clusters=clusters)

    assert list(token.clusters.order_by("slug").values_list("slug", flat=True)) == ["alpha", "beta"]


@pytest.mark.parametrize("address", ["", "unix:", "10.1.2.3:4711", "localhost"])
def test_what_is_no_address_comes_from_nowhere(address: str) -> None:
    assert not comes_from(address, ["0.0.0.0/0", "::/0"])
