"""Sign-in at an identity provider: for invited people, by who they are there; fresh where it is to prove anything."""

import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount, SocialApp
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.test import Client
from pytest_django.fixtures import Settings

from checks.models import PolicyVersion, Role
from portal.accounts.models import User
from portal.environment import env_single_sign_on
from tests.fleet import Fleet, make_fleet, person
from tests.identity_provider import IdentityProvider
from tests.lab import NOON
from tests.ui.test_step_up import FORM, PROPOSE

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(settings: Settings) -> Iterator[IdentityProvider]:
    cache.clear()
    provider = IdentityProvider()
    settings.SOCIALACCOUNT_PROVIDERS = provider.settings()
    yield provider
    provider.close()


@pytest.fixture
def fleet(db: None) -> Fleet:
    return make_fleet(at=NOON)


@pytest.fixture
def quill(fleet: Fleet) -> User:
    """The lead of helios, invited by address, without a password."""
    quill = person("quill", fleet.cluster, Role.LEAD, display_name="Quill")
    quill.email = "Quill@example.org"
    quill.set_unusable_password()
    quill.save()
    return quill


def travel(client: Client, address: str) -> HttpResponse:
    """Go to *address* and follow where it leads: to the provider over real HTTP, and back."""
    answer: Any = client.get(address)
    while answer.status_code in (301, 302):
        target = urlsplit(answer.headers["Location"])
        path = target.path + (f"?{target.query}" if target.query else "")
        if target.netloc in ("", "testserver"):
            answer = client.get(path)
            continue
        link = HTTPConnection(target.hostname or "", target.port)
        link.request("GET", path)
        back = link.getresponse()
        back.read()
        answer = HttpResponse(status=back.status, headers={"Location": back.headers["Location"]})
        link.close()
    return answer


def sign_in(client: Client) -> HttpResponse:
    return travel(client, "/accounts/sso/login/?next=/status")


def who(client: Client) -> str | None:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else None


# Signing in


def test_an_invited_person_with_a_verified_address_signs_in_and_goes_on_where_they_wanted(
    provider: IdentityProvider, quill: User
) -> None:
    client = Client()
    answer = sign_in(client)

    assert (answer.status_code, answer.wsgi_request.path, who(client)) == (200, "/status", "quill")
    assert SocialAccount.objects.get().user == quill


def test_the_request_carries_a_state_a_nonce_and_a_challenge(provider: IdentityProvider, quill: User) -> None:
    sign_in(Client())
    (asked,) = provider.asked

    assert {"state", "nonce", "code_challenge"} <= asked.keys()
    assert asked["code_challenge_method"] == "S256"


def test_an_address_that_the_provider_did_not_verify_lets_nobody_in(provider: IdentityProvider, quill: User) -> None:
    provider.verified = False
    client = Client()
    answer = sign_in(client)

    assert (answer.status_code, who(client), SocialAccount.objects.exists()) == (403, None, False)
    assert "ask an administrator for an invitation" in answer.content.decode()


def test_nobody_signs_up_by_themselves(provider: IdentityProvider, quill: User) -> None:
    provider.email, provider.sub = "stranger@example.org", "sub-stranger"
    client = Client()
    answer = sign_in(client)

    assert (answer.status_code, who(client), User.objects.count()) == (403, None, 1)


def test_once_tied_the_subject_counts_and_the_address_does_not(provider: IdentityProvider, quill: User) -> None:
    sign_in(Client())
    provider.email = "married-name@example.org"
    client = Client()
    sign_in(client)

    assert who(client) == "quill"


def test_somebody_else_who_got_the_address_later_is_not_let_in(provider: IdentityProvider, quill: User) -> None:
    sign_in(Client())
    provider.sub = "sub-of-the-successor"
    client = Client()

    assert (sign_in(client).status_code, who(client)) == (403, None)


def test_the_same_subject_of_another_issuer_is_another_person(
    provider: IdentityProvider, quill: User, settings: Settings
) -> None:
    sign_in(Client())
    other = IdentityProvider(email="x@example.org")
    settings.SOCIALACCOUNT_PROVIDERS = other.settings()
    client = Client()
    sign_in(client)
    other.close()

    assert who(client) is None


def test_two_accounts_with_one_address_are_nobodys(provider: IdentityProvider, quill: User, fleet: Fleet) -> None:
    twin = person("twin", fleet.cluster, Role.ADMIN)
    twin.email = "quill@example.org"
    twin.save()
    client = Client()

    assert (sign_in(client).status_code, who(client)) == (403, None)


def test_a_user_name_counts_only_where_the_site_says_so(
    provider: IdentityProvider, quill: User, settings: Settings
) -> None:
    provider.email = "nothing@example.org"
    assert sign_in(Client()).status_code == 403
    settings.SOCIALACCOUNT_PROVIDERS = provider.settings(match="username")
    client = Client()
    sign_in(client)

    assert who(client) == "quill"


def test_a_closed_account_is_not_opened_from_the_provider(provider: IdentityProvider, quill: User) -> None:
    sign_in(Client())
    quill.is_active = False
    quill.save()
    client = Client()
    sign_in(client)

    assert who(client) is None


# Tokens


def _other_key() -> Any:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.mark.parametrize(
    "lie",
    [
        {"signs_with": "another key"},
        {"signs_with": "a shared secret of many, many letters", "algorithm": "HS256"},
        {"signs_with": "", "algorithm": "none"},
        {"claims": {"aud": "somebody-else"}},
        {"claims": {"iss": "https://evil.example.org"}},
        {"claims": {"exp": int(time.time()) - 600}},
        {"claims": {"nonce": "of another sign-in"}},
        {"claims": {"nonce": None}},
        {"userinfo": {"sub": "somebody else"}},
    ],
    ids=["other key", "HS256", "none", "audience", "issuer", "expired", "other nonce", "no nonce", "two people"],
)
def test_a_token_that_is_not_what_it_should_be_lets_nobody_in(
    provider: IdentityProvider, quill: User, lie: dict[str, Any]
) -> None:
    for name, value in lie.items():
        setattr(provider, name, _other_key() if value == "another key" else value)
    client = Client()

    assert (sign_in(client).status_code in (401, 403), who(client)) == (True, None)


def test_an_answer_to_a_question_that_this_browser_did_not_ask_is_refused(
    provider: IdentityProvider, quill: User
) -> None:
    asked = Client().get("/accounts/sso/login/").headers["Location"]
    query = {name: values[0] for name, values in parse_qs(urlsplit(asked).query).items()}
    back = urlsplit(provider.authorize(query))
    client = Client()
    answer = client.get(f"{back.path}?{back.query}")

    assert (answer.status_code, who(client)) == (401, None)


def test_a_provider_that_is_away_is_told_and_is_no_server_error(provider: IdentityProvider, quill: User) -> None:
    provider.close()

    assert sign_in(Client()).status_code == 401


def test_where_no_provider_is_set_there_is_no_way_to_one(settings: Settings) -> None:
    settings.SOCIALACCOUNT_PROVIDERS = {}
    client = Client()

    assert client.get("/accounts/sso/login/").status_code == 404
    assert "sso" not in client.get("/accounts/login/").content.decode()


def test_a_provider_that_somebody_wrote_into_the_database_does_not_exist(settings: Settings) -> None:
    settings.SOCIALACCOUNT_PROVIDERS = {}
    SocialApp.objects.create(provider="sso", provider_id="sso", name="evil", client_id="x")

    assert Client().get("/accounts/sso/login/").status_code == 404


def test_nobody_ties_or_unties_identities_by_themselves(provider: IdentityProvider, quill: User) -> None:
    client = Client()
    sign_in(client)

    assert client.get("/accounts/3rdparty/").status_code == 404
    assert client.get("/accounts/3rdparty/signup/").status_code == 404


# Proof


@pytest.fixture
def desk(provider: IdentityProvider, quill: User) -> Client:
    """Quill's session, opened at the provider an hour ago."""
    client = Client()
    sign_in(client)
    return client


def test_signing_in_there_is_no_proof_but_a_round_trip_with_a_fresh_sign_in_is(
    desk: Client, provider: IdentityProvider
) -> None:
    asked = desk.post(PROPOSE, FORM)
    assert asked.headers["Location"] == f"/accounts/sso/reauthenticate/?next={PROPOSE.replace('/', '%2F')}"
    page = desk.get(asked.headers["Location"]).content.decode()
    assert "Go to Acme ID" in page
    assert not PolicyVersion.objects.exists()

    travel(desk, f"/accounts/sso/prove/?next={PROPOSE}")

    assert PolicyVersion.objects.get().reason == "shorter shifts"
    assert (provider.asked[-1]["prompt"], provider.asked[-1]["max_age"]) == ("login", "0")


def test_a_provider_that_did_not_ask_again_proves_nothing(desk: Client, provider: IdentityProvider) -> None:
    provider.asks_again = False
    desk.post(PROPOSE, FORM)
    answer = travel(desk, f"/accounts/sso/prove/?next={PROPOSE}")

    assert (answer.status_code, PolicyVersion.objects.exists()) == (403, False)
    assert "did not sign in again" in answer.content.decode()


@pytest.mark.parametrize("said", [None, True, "now", 32503680000], ids=["nothing", "yes", "a word", "the year 3000"])
def test_without_a_believable_time_of_sign_in_nothing_is_proved(
    desk: Client, provider: IdentityProvider, said: object
) -> None:
    provider.claims = {"auth_time": said}
    desk.post(PROPOSE, FORM)

    assert travel(desk, f"/accounts/sso/prove/?next={PROPOSE}").status_code == 403
    assert not PolicyVersion.objects.exists()


def test_somebody_else_at_the_provider_proves_nothing_for_this_session(
    desk: Client, provider: IdentityProvider, fleet: Fleet
) -> None:
    other = person("other", fleet.cluster, Role.LEAD)
    other.email = "other@example.org"
    other.save()
    provider.sub, provider.email = "sub-other", "other@example.org"
    desk.post(PROPOSE, FORM)
    answer = travel(desk, f"/accounts/sso/prove/?next={PROPOSE}")

    assert (answer.status_code, PolicyVersion.objects.exists(), who(desk)) == (403, False, "quill")


def test_a_plain_sign_in_in_the_middle_is_not_taken_for_the_proof(desk: Client) -> None:
    desk.post(PROPOSE, FORM)
    travel(desk, f"/accounts/sso/login/?next={PROPOSE}")
    desk.get(f"/accounts/sso/proved/?next={PROPOSE}")

    assert not PolicyVersion.objects.exists()


def test_a_round_trip_opens_the_pages_of_the_second_factor(desk: Client) -> None:
    assert desk.get("/accounts/2fa/totp/activate/").status_code == 302
    travel(desk, "/accounts/sso/prove/?next=/accounts/2fa/totp/activate/")

    assert desk.get("/accounts/2fa/totp/activate/").status_code == 200


# Settings


def test_half_a_provider_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OIDC_ISSUER", "https://id.example.org")
    with pytest.raises(ImproperlyConfigured, match="set all three"):
        env_single_sign_on()


def test_people_are_matched_by_address_or_user_name_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"):
        monkeypatch.setenv(name, "https://id.example.org/")
    monkeypatch.setenv("OIDC_MATCH", "sub")
    with pytest.raises(ImproperlyConfigured, match="email or their username"):
        env_single_sign_on()
