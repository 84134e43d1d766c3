"""Signing a layer: on the digest that was shown, by two people, with what changed in words."""

from datetime import datetime, timedelta

import pytest
import time_machine

from checks.models import LedgerEntry, Revocation, Role, Signature
from checks.services.delegations import delegate, end_delegation
from checks.services.people import end_role, grant_role
from tests.fleet import Fleet, person
from tests.signed import proof
from tests.ui.conftest import seen_by
from tests.ui.signing import RUN, SIGN_DATA, SIGN_OPERATIONS, Lab, make_lab, sent
from tests.ui.test_step_up import prove


@pytest.fixture
def lab(fleet: Fleet, now: datetime) -> Lab:
    return make_lab(fleet, now)


def test_two_people_sign_and_the_run_shows_who_and_how(lab: Lab) -> None:
    assert sent(lab.sight("sable").client, SIGN_DATA)[0] == 302
    page = lab.sight("quill").text(RUN)
    assert '<span class="name">Sable</span>' in page
    assert "state-half" in page
    assert f'href="{SIGN_DATA}"' in page
    assert sent(lab.sight("quill").client, SIGN_DATA, meaning="responsible", comment="Seen.")[0] == 302
    signed = Signature.objects.filter(package__layer="data")
    assert [(one.printed_name, one.role, one.meaning, one.round) for one in signed] == [
        ("Sable", "data", "reviewed", 1),
        ("Quill", "lead", "responsible", 1),
    ]
    assert signed[0].manifest_id == signed[1].manifest_id
    assert "accepts responsibility" in lab.sight("wren").text(RUN)
    assert LedgerEntry.objects.filter(what="signed").count() == 2


def test_the_page_shows_the_whole_digest_and_sends_it_along(lab: Lab) -> None:
    page = lab.sight("sable").text(SIGN_DATA)
    assert page.count('class="digest">') == 1
    assert 'name="digest" value="' in page
    assert "gpu-[001-002]" in page


def test_a_digest_that_moved_is_refused_with_what_changed(lab: Lab, now: datetime) -> None:
    sable, quill = lab.sight("sable"), lab.sight("quill")
    assert sent(sable.client, SIGN_DATA)[0] == 302
    shown = Signature.objects.get().manifest_id
    form = {"digest": shown, "role": "lead", "meaning": "reviewed", "comment": "All 960 shards.", "seconds": "{}"}
    lab.sight("wren").client.post(f"{RUN}change/", _form(lab, dataset="cygnus-web-v4", world_size="8"))
    response = quill.client.post(SIGN_DATA, form)
    page = response.content.decode()
    assert response.status_code == 409
    assert "What there is to sign has changed since you opened the page" in page
    assert "<del>16</del> → <ins>8</ins>" in page
    assert "All 960 shards." in page
    assert Signature.objects.count() == 1


def _form(lab: Lab, **changed: str) -> dict[str, str]:
    run = lab.run
    moment = "%Y-%m-%dT%H:%M"
    return {
        "name": run.name, "nodes": "gpu-[001-002]", "nodes_needed": "2", "world_size": "16", "model_name": "cygnus",
        "planned_start": run.planned_start.strftime(moment), "planned_end": run.planned_end.strftime(moment),
        "reason": "a smaller run", **changed,
    }  # fmt: skip


def test_the_same_person_cannot_fill_both_slots_even_with_both_roles(lab: Lab, now: datetime) -> None:
    grant_role(user=lab.people["sable"], cluster=lab.fleet.cluster, role=Role.LEAD, by=None, now=now)
    sable = lab.sight("sable")
    assert sent(sable.client, SIGN_DATA, role="data")[0] == 302
    page = sable.text(SIGN_DATA)
    assert "was signed by you or for you; this one needs another person." in page
    assert "<form" not in page.split('class="split"')[1].split("</main>")[0]
    status, refused = sent(sable.client, SIGN_DATA, role="lead", digest=Signature.objects.get().manifest_id)
    assert (status, Signature.objects.count()) == (403, 1)
    assert "Not signed." in refused


def test_who_stated_a_result_reads_why_somebody_else_has_to_sign(lab: Lab, now: datetime) -> None:
    grant_role(user=lab.people["ember"], cluster=lab.fleet.cluster, role=Role.DATA, by=None, now=now)
    page = lab.sight("ember").text(SIGN_DATA)
    assert "You had a hand in what would be signed" in page
    assert "Sign as" not in page


def test_a_role_that_is_not_asked_reads_who_is_still_missing(lab: Lab) -> None:
    page = lab.sight("wren").text(SIGN_DATA)
    assert "Your roles here are not asked for. Still missing: data engineer, lead." in page
    assert "data engineer: Sable" in page
    assert "Sign as" not in page


def test_a_layer_that_cannot_be_signed_says_what_is_in_the_way(lab: Lab) -> None:
    page = lab.sight("ember").text(f"{RUN}sign/physical/")
    assert "It cannot be signed yet: see what is in the way." in page
    assert "power-budget, never measured" in page
    assert "Left out by name" in page
    assert "Sign as" not in page


def test_nothing_is_signed_without_a_meaning(lab: Lab) -> None:
    status, page = sent(lab.sight("sable").client, SIGN_DATA, meaning="")
    assert status == 422
    assert "Choose what your signature means." in page
    assert not Signature.objects.exists()


def test_a_delegation_that_ended_after_the_page_was_shown_is_told_in_a_sentence(lab: Lab, now: datetime) -> None:
    stella = person("stella", lab.fleet.cluster, Role.DATA)
    given = {"cluster": lab.fleet.cluster, "role": Role.DATA, "giver": lab.people["sable"], "proof": proof(now)}
    delegation = delegate(
        receiver=stella, starts_at=now, ends_at=now + timedelta(days=1), reason="on leave", now=now, **given
    )
    sight = seen_by(stella)
    prove(sight.client, "/")
    assert f'<option value="{delegation.pk}">' in sight.text(SIGN_DATA)
    end_delegation(delegation=delegation, by=stella, reason="back", proof=proof(now), now=now)
    status, page = sent(sight.client, SIGN_DATA, delegation=str(delegation.pk))
    assert (status, Signature.objects.count()) == (403, 0)
    assert "That delegation does not let you sign this layer in this role now." in page


def test_a_form_that_was_sent_late_signs_after_the_proof(lab: Lab, now: datetime) -> None:
    sable = lab.sight("sable")
    digest = sable.text(SIGN_DATA).split('name="digest" value="')[1][:64]
    form = {"digest": digest, "role": "data", "meaning": "performed", "comment": "kept", "seconds": '{"x": 65}'}
    with time_machine.travel(now + timedelta(minutes=6), tick=True):
        assert sable.client.post(SIGN_DATA, form).status_code == 302
        assert not Signature.objects.exists()
        prove(sable.client, SIGN_DATA)
    assert (Signature.objects.get().comment, Signature.objects.get().annex["seconds"]) == ("kept", {"x": 65})


def test_what_changed_since_ones_last_signature_is_told_in_words(lab: Lab, now: datetime) -> None:
    sable = lab.sight("sable")
    sent(sable.client, SIGN_DATA)
    lab.sight("wren").client.post(f"{RUN}change/", _form(lab, dataset="cygnus-web-v4", nodes_needed="1"))
    page = sable.text(SIGN_DATA)
    assert "What changed since you last signed" in page
    assert '<th scope="row">Nodes it needs</th>' in page
    assert "<del>2</del> → <ins>1</ins>" in page


def test_a_revoked_signature_stays_visible_with_who_and_why(lab: Lab) -> None:
    sable = lab.sight("sable")
    sent(sable.client, SIGN_DATA)
    number = Signature.objects.get().pk
    assert f"/signatures/{number}/revoke/" in sable.text(f"{RUN}history/")
    response = sable.client.post(f"{RUN}signatures/{number}/revoke/", {"reason": "wrong shard list"})
    assert response.status_code == 302
    assert Revocation.objects.get().reason == "wrong shard list"
    for page in (lab.sight("wren").text(RUN), lab.sight("wren").text(f"{RUN}history/")):
        assert "revoked by Sable: wrong shard list" in page
        assert "revoke/" not in page


def test_nobody_but_signer_leads_and_the_layers_roles_may_revoke(lab: Lab) -> None:
    sent(lab.sight("sable").client, SIGN_DATA)
    path = f"{RUN}signatures/{Signature.objects.get().pk}/revoke/"
    ember = lab.sight("ember")
    assert path not in ember.text(f"{RUN}history/")
    assert ember.client.post(path, {"reason": "no reason at all"}).status_code == 403
    assert not Revocation.objects.exists()


def test_a_signature_of_a_role_that_ended_is_struck_and_counts_no_more(lab: Lab, now: datetime) -> None:
    sent(lab.sight("quill").client, SIGN_OPERATIONS)
    end_role(
        user=lab.people["quill"], cluster=lab.fleet.cluster, role=Role.LEAD, by=None, reason="left the team", now=now
    )  # fmt: skip
    page = lab.sight("wren").text(RUN)
    assert 'class="slot was-outdated"' in page
    assert "the signer no longer holds the role" in page


def test_a_layer_that_does_not_exist_is_not_found(lab: Lab) -> None:
    lab.sight("sable").text(f"{RUN}sign/moral/", status=404)
