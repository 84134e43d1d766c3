"""The one file that verifies a certificate without the portal."""

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks.certificate import verify_certificate
from checks.certificate.verify_certificate import FAILED, HELD, MISUSED, UNCERTAIN, Failure, main, verify
from checks.domain.certificate import read_certificate
from checks.domain.policy import DEFAULT_POLICY, Policy
from checks.domain.verdicts import Layer
from tests.certificate.making import KEY_ID, NODES, WAIVER, Change, Signing, certificate, signed_anchor

SCRIPT = Path(verify_certificate.__file__)


def fails(text: str) -> str:
    """The sentence with which *text* fails."""
    with pytest.raises(Failure) as failed:
        verify(text.encode())
    return str(failed.value)


def code_of(text: str, folder: Path) -> int:
    """How the verifier ends on *text*."""
    file = folder / "certificate.json"
    file.write_text(text, encoding="utf-8", newline="")
    return main([str(file)])


def physical(body: dict[str, Any]) -> dict[str, Any]:
    layer: dict[str, Any] = body["layers"][0]
    return layer


def test_a_certificate_as_it_was_handed_out_is_verified_and_says_who_signed(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(certificate(), encoding="utf-8")

    run = subprocess.run([sys.executable, "-I", SCRIPT, file], capture_output=True, check=False)
    lines = run.stdout.decode().splitlines()

    assert (run.returncode, len(lines), run.stderr) == (HELD, 1, b"")
    assert lines[0].startswith("VERIFIED: run run-7 of helios.example.org, issued 2026-11-29T14:00:00+00:00: ")
    assert "physical by Anna Ü. (hardware) and Bo 陈 (platform); system by Bo 陈 (platform)" in lines[0]
    assert KEY_ID in lines[0]


def test_another_key_than_the_one_that_was_named_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(certificate(), encoding="utf-8")

    assert main([str(file), "--key-id", KEY_ID.upper()]) == HELD
    assert "compare" not in capsys.readouterr().out
    assert main([str(file), "--key-id", "ab" * 32]) == FAILED


def test_a_wrong_call_ends_with_2(tmp_path: Path) -> None:
    assert main([str(tmp_path / "absent")]) == MISUSED
    assert main([str(tmp_path), "--key-id", "short"]) == MISUSED
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == MISUSED


NO_CERTIFICATES = {
    "nothing": "", "a list": "[]", "no parts": "{}", "null": "null", "a number": "12", "too little": '{"format":"1"}\n',
    "too deep": "[" * 100_000, "a byte order mark": "\ufeff{}", "half a character": '"\\ud800"\n',
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_CERTIFICATES)
def test_anything_else_fails_in_one_line(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(NO_CERTIFICATES[kind], tmp_path) == FAILED
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_no_character_can_be_changed_removed_or_added(tmp_path: Path) -> None:
    text, chance = certificate(), random.Random(7)
    for _ in range(250):
        place, other = chance.randrange(len(text)), chance.choice('0aAfé \t\n",:{}[]\\/-1')
        before, this, after = text[:place], text[place], text[place + 1 :]
        for changed in (before + other + after, before + after, before + other + this + after):
            assert changed == text or code_of(changed, tmp_path) == FAILED, (place, other)


def test_every_character_of_seal_and_anchor_counts(tmp_path: Path) -> None:
    text = certificate()
    for part in ('"seal":', '"anchor":'):
        begin = text.index(part)
        for place in range(begin, min(begin + 420, len(text)), 3):
            flipped = str((int(text[place]) + 1) % 10) if text[place].isdecimal() else text[place].swapcase()
            if flipped != text[place]:
                assert code_of(text[:place] + flipped + text[place + 1 :], tmp_path) == FAILED, place


def test_a_file_that_an_editor_saved_anew_is_not_as_it_was_handed_out() -> None:
    assert "saved anew" in fails(certificate().replace('","', '", "', 1))
    assert "saved anew" in fails(certificate().rstrip("\n"))


def test_without_cryptography_all_else_is_verified_and_it_ends_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)

    code, sentence = verify(certificate().encode())

    assert (code, "install the Python package cryptography" in sentence) == (UNCERTAIN, True)
    text = certificate()
    fails(text.replace("run-7", "run-8"))


def test_without_an_anchor_it_ends_with_3() -> None:
    code, sentence = verify(certificate(lambda body: body.pop("anchor")).encode())

    assert (code, "no anchor covers it yet" in sentence) == (UNCERTAIN, True)


def test_a_layer_that_is_not_signed_and_a_forced_gate_are_told_aloud() -> None:
    def change(body: dict[str, Any]) -> None:
        body["layers"][4] = {"layer": "operations", "state": "unsigned", "signatures": []}
        body["overrides"] = [{"id": 1}]

    code, sentence = verify(certificate(change).encode())

    assert code == HELD
    assert "NOT SIGNED: operations is unsigned; the gate was forced open 1 times" in sentence


def set_in(*path: Any, to: Any) -> Change:
    """A change of one part of the certificate's body."""

    def change(body: dict[str, Any]) -> None:
        part: Any = body
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = to

    return change


def first_leaf(body: dict[str, Any]) -> dict[str, Any]:
    layer = physical(body)
    leaf: dict[str, Any] = layer["leaves"][layer["package"]["nodes"][NODES[0]]][0]
    return leaf


# What a site that seals what is not true could write: the seal holds, and the rest does not.
LIES: dict[str, tuple[Change, str]] = {
    "a leaf": (lambda body: first_leaf(body).update(settled="na"), "not those that were signed"),
    "an epoch": (lambda body: first_leaf(body).update(epoch=1), "not those that were signed"),
    "an identity": (lambda body: first_leaf(body)["identity"].update(serial="S9"), "not those that were signed"),
    "order of leaves": (
        lambda body: physical(body)["leaves"][physical(body)["package"]["nodes"][NODES[0]]].reverse(), "not in order",
    ),
    "leaves left out": (lambda body: physical(body)["leaves"].popitem(), "missing"),
    "a node left out": (lambda body: physical(body)["package"]["nodes"].pop(NODES[0]), "missing"),
    "the run spec": (lambda body: physical(body)["package"]["header"]["run"].update(nodes_needed=1), "package is not"),
    "a policy": (set_in("layers", 1, "policy", "layers", "system", "roles", to=["lead"]), "policy is another one"),
    "a waiver": (set_in("layers", 0, "waivers", to=[]), "a waiver that was signed is missing"),
    "a waiver's end": (set_in("layers", 0, "waivers", 0, "until", to="2036-01-01T00:00:00+00:00"), "waiver that was"),
    "a layer left out": (lambda body: body["layers"].pop(), "a layer is missing"),
    "a layer twice": (lambda body: body["layers"].insert(1, body["layers"][0]), "a layer is missing, or stands twice"),
    "a package left out": (lambda body: body["layers"][2].pop("package"), "what was signed is missing"),
    "a signature left out": (lambda body: physical(body)["signatures"].pop(), "policy asks for"),
    "a digest": (set_in("layers", 0, "signatures", 0, "digest", to="ab" * 32), "names another digest"),
    "a signer": (set_in("layers", 0, "signatures", 0, "signer", to="99"), "ledger tells"),
    "a name": (set_in("layers", 0, "signatures", 0, "name", to="Somebody"), "ledger tells"),
    "a role": (set_in("layers", 0, "signatures", 0, "role", to="lead"), "ledger tells"),
    "a round": (set_in("layers", 0, "signatures", 0, "round", to=2), "ledger tells"),
    "a meaning": (set_in("layers", 0, "signatures", 0, "meaning", to="responsible"), "ledger tells"),
    "a time": (set_in("layers", 0, "signatures", 0, "signed_at", to="2026-11-28T12:00:00+00:00"), "ledger tells"),
    "a contributor": (set_in("layers", 0, "signatures", 0, "contributor", to=True), "ledger tells"),
    "an unknown signature": (set_in("layers", 0, "signatures", 0, "id", to=77), "not in the ledger"),
    "an ended signature": (
        set_in("layers", 0, "signatures", 0, "expires_at", to="2026-11-29T13:59:59+00:00"), "had ended",
    ),
    "an invented revocation": (set_in("layers", 0, "signatures", 0, "revoked", to={"at": "x"}), "hides or invents"),
    "another run": (set_in("run", to="run-8"), "not in the ledger"),
    "an entry": (set_in("ledger", 0, "reason", to="none"), "entry 40 of the ledger was changed"),
    "an entry left out": (lambda body: body["ledger"].pop(2), "does not follow"),
    "the last entry left out": (lambda body: body["ledger"].pop(), "not in the ledger"),
    "order of entries": (
        lambda body: body["ledger"].insert(1, body["ledger"].pop(2)), "does not follow",
    ),
    "an anchor of another chain": (
        lambda body: body.update(anchor=signed_anchor(body["anchor"], head="ab" * 32)), "does not name the last entry",
    ),
    "an older anchor": (
        lambda body: body.update(
            anchor=signed_anchor(body["anchor"], seq=body["ledger"][0]["seq"], head=body["ledger"][0]["digest"])
        ), "does not name the last entry",
    ),
    "an anchor's head": (set_in("anchor", "head", to="ab" * 32), "does not name the last entry"),
    "an anchor's time": (set_in("anchor", "at", to="2026-11-29T15:00:00.000000+00:00"), "does not hold"),
    "an anchor's key": (set_in("anchor", "key_id", to="ab" * 32), "another key"),
    "a public key": (set_in("public_key", to="ab" * 32), "another key"),
    "issued before it was signed": (set_in("issued_at", to="2026-11-29T11:00:00+00:00"), "younger than"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_seal_does_not_make_a_lie_true(lie: str) -> None:
    change, sentence = LIES[lie]

    assert sentence in fails(certificate(change))


# What was really signed so, and should not have been.
SIGNED_ANYWAY = {
    "a failure under a waiver for another node": (
        Signing(waiver=replace(WAIVER, nodes=frozenset(NODES[:1]))), "an-item is fail, and no waiver covers it",
    ),
    "a failure under a waiver for what is not a node's": (
        Signing(waiver=replace(WAIVER, nodes=frozenset())), "an-item is fail, and no waiver covers it",
    ),
    "a failure under a waiver for another item": (
        Signing(waiver=replace(WAIVER, item="other")), "an-item is fail, and no waiver covers it",
    ),
    "too few nodes": (Signing(needed=dict.fromkeys(Layer, 3)), "fewer nodes were signed than the run needs"),
    "another run in one layer": (Signing(needed={Layer.DATA: 1}), "signed for different runs or policies"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SIGNED_ANYWAY)
def test_what_should_not_have_been_signed_is_found(kind: str) -> None:
    signing, sentence = SIGNED_ANYWAY[kind]

    assert sentence in fails(certificate(signing=signing))


def test_one_person_in_both_roles_is_not_two() -> None:
    def one_person(entry: dict[str, Any]) -> None:
        entry.update(who="11", name="Anna Ü.")

    def change(body: dict[str, Any]) -> None:
        for layer in body["layers"]:
            for one in layer["signatures"]:
                one.update(signer="11", name="Anna Ü.")

    assert "one person signed in more than one role" in fails(certificate(change, ledger=one_person))


def test_a_contributor_is_believed_where_the_policy_says_so_only() -> None:
    def contributed(entry: dict[str, Any]) -> None:
        entry["data"]["contributor"] = True

    def change(body: dict[str, Any]) -> None:
        for layer in body["layers"]:
            for one in layer["signatures"]:
                one["contributor"] = True

    assert "contributed to what was signed" in fails(certificate(change, ledger=contributed))
    relaxed = Policy.read(DEFAULT_POLICY.as_json() | {"contributors_may_sign": True})
    code, sentence = verify(certificate(change, ledger=contributed, signing=Signing(relaxed)).encode())
    assert (code, "contributors were allowed to sign" in sentence) == (HELD, True)


def test_a_revocation_that_the_ledger_knows_cannot_be_left_out() -> None:
    def revoked(entry: dict[str, Any]) -> None:
        if entry["target"] == "run-7/operations":
            entry.update(what="signature_revoked", target="run-7/physical", data={"signature": 0})

    def change(body: dict[str, Any]) -> None:
        body["layers"][4] = {"layer": "operations", "state": "unsigned", "signatures": []}

    assert "hides or invents a revocation" in fails(certificate(change, ledger=revoked))


def closed_entry_of(cluster_number: str) -> str:
    """A certificate whose last entry stands closed, as an act of the cluster with that number."""

    def closed(entry: dict[str, Any]) -> None:
        if entry["target"] == "run-7/operations":
            for key in entry.keys() - {"seq", "previous"}:
                del entry[key]
            entry.update(cluster_number=cluster_number, act="5" * 64)

    def change(body: dict[str, Any]) -> None:
        body["layers"][4] = {"layer": "operations", "state": "unsigned", "signatures": []}

    return certificate(change, ledger=closed)


def test_an_entry_of_another_cluster_may_stand_closed() -> None:
    assert verify(closed_entry_of("4").encode())[0] == HELD


def test_an_entry_of_the_runs_own_cluster_may_not_be_hidden() -> None:
    assert "is hidden" in fails(closed_entry_of("3"))


def test_a_revoked_signature_is_not_counted_as_signed() -> None:
    def revoked(entry: dict[str, Any]) -> None:
        if entry["target"] == "run-7/operations":
            entry.update(what="signature_revoked", target="run-7/physical", data={"signature": 0})

    def change(body: dict[str, Any]) -> None:
        body["layers"][4] = {"layer": "operations", "state": "unsigned", "signatures": []}
        physical(body)["signatures"][0]["revoked"] = {"at": "2026-11-29T13:00:00+00:00", "reason": "wrong node"}

    assert "was revoked" in fails(certificate(change, ledger=revoked))


def test_the_parts_of_a_certificate_can_be_read_for_showing() -> None:
    assert read_certificate(certificate())["layers"][0]["signatures"][1]["name"] == "Bo 陈"


def test_what_is_not_set_is_left_out_and_never_null() -> None:
    with pytest.raises(ValueError, match="no canonical form"):
        certificate(set_in("anchor", to=None))


def test_it_needs_nothing_newer_than_python_3_9() -> None:
    program = Path(sys.executable).with_name("vermin")
    judged = subprocess.run(
        [program, "--target=3.9-", "--eval-annotations", "--no-tips", "--violations", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout
