"""The record of a run, and the file that verifies without the portal."""

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pytest_django import Settings

from checks.models import Signature
from checks.services import sealing
from checks.services.anchors import anchor_ledger
from checks.services.ledger import write_entry
from tests.factories import make_cluster
from tests.fleet import Fleet
from tests.ui.messages import ROOT
from tests.ui.signing import RUN, SIGN_DATA, SIGN_OPERATIONS, Lab, make_lab, sent

FILE = f"{RUN}certificate.json"
VERIFIER = ROOT / "checks" / "certificate" / "verify_certificate.py"


@pytest.fixture
def lab(fleet: Fleet, now: datetime, settings: Settings, tmp_path: Path) -> Lab:
    key = tmp_path / "ledger-key.pem"
    key.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    settings.LEDGER_KEY_FILE = str(key)
    return make_lab(fleet, now)


def _verified(text: str, place: Path) -> tuple[int, str]:
    file = place / "certificate.json"
    file.write_text(text, encoding="utf-8")
    ran = subprocess.run([sys.executable, str(VERIFIER), str(file)], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout


def _sign_both(lab: Lab) -> None:
    sent(lab.sight("sable").client, SIGN_DATA)
    sent(lab.sight("quill").client, SIGN_DATA, comment="gesehen, geprüft")
    sent(lab.sight("quill").client, SIGN_OPERATIONS)


def test_a_certificate_verifies_offline_once_the_chain_is_anchored(lab: Lab, now: datetime, tmp_path: Path) -> None:
    _sign_both(lab)
    anchors = tmp_path / "anchors"
    anchors.mkdir()
    anchor_ledger(to=[str(anchors)], now=now)
    code, said = _verified(lab.sight("wren").text(FILE), tmp_path)
    assert code == 0, said
    assert "data by Sable (data) and Quill (lead); operations by Quill (lead)" in said
    assert "physical is unsigned" in said


def test_without_an_anchor_it_says_so_and_proves_nothing(lab: Lab, tmp_path: Path) -> None:
    _sign_both(lab)
    code, said = _verified(lab.sight("wren").text(FILE), tmp_path)
    assert code == 3, said
    assert "no anchor covers it yet" in said


def test_a_revocation_stands_in_it(lab: Lab, tmp_path: Path) -> None:
    _sign_both(lab)
    number = Signature.objects.get(package__layer="operations").pk
    lab.sight("quill").client.post(f"{RUN}signatures/{number}/revoke/", {"reason": "shift plan changed"})
    code, said = _verified(lab.sight("wren").text(FILE), tmp_path)
    assert code == 3, said
    assert "operations is revoked" in said


def test_it_tells_no_word_of_another_cluster_and_verifies_all_the_same(lab: Lab, now: datetime, tmp_path: Path) -> None:
    sent(lab.sight("sable").client, SIGN_DATA)
    write_entry(
        what="settings_changed", target="secret-lab", reason="TICKET-7", cluster=make_cluster("secret-lab"), now=now
    )
    sent(lab.sight("quill").client, SIGN_DATA)
    text = lab.sight("wren").text(FILE)
    assert "secret-lab" not in text
    assert "TICKET-7" not in text
    assert _verified(text, tmp_path)[0] == 3


def test_the_program_that_verifies_it_is_handed_out_beside_it(lab: Lab) -> None:
    said = lab.sight("wren").client.get("/runs/verify_certificate.py")
    assert said.content == VERIFIER.read_bytes()
    assert "/runs/verify_certificate.py" in lab.sight("wren").text(f"{RUN}record/")


def test_one_changed_character_is_found(lab: Lab, tmp_path: Path) -> None:
    _sign_both(lab)
    text = lab.sight("wren").text(FILE)
    code, said = _verified(text.replace('"name":"Sable"', '"name":"Table"', 1), tmp_path)
    assert code == 1, said


def test_a_run_that_nobody_signed_has_a_certificate_that_says_so(lab: Lab, tmp_path: Path) -> None:
    code, said = _verified(lab.sight("wren").text(FILE), tmp_path)
    assert code == 3, said
    assert "nobody signed" in said


def test_a_portal_without_a_key_says_what_is_missing(
    lab: Lab, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker, which seals for web processes, comes at once and has none either."""
    settings.LEDGER_KEY_FILE = ""
    monkeypatch.setattr(sealing, "enqueue", lambda _task, order, now: sealing.seal_certificate(order_id=order, now=now))

    assert "set LEDGER_KEY_FILE" in lab.sight("wren").text(FILE, status=422)


def test_the_record_prints_names_digests_and_the_decision(lab: Lab) -> None:
    _sign_both(lab)
    page = lab.sight("wren").text(f"{RUN}record/")
    assert "Record of readiness" in page
    assert '<span class="name">Sable</span>' in page
    assert Signature.objects.filter(package__layer="data")[0].manifest_id in page
    assert f'href="{FILE}"' in page
