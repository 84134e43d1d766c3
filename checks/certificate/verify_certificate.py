#!/usr/bin/env python3
"""Verify a Countersign certificate offline: python3 verify_certificate.py CERTIFICATE [--key-id NAME]

Needs Python 3.9 or later and nothing else; the package `cryptography` where signatures are to be verified too. NAME is
what your site publishes as the name of its ledger key (SHA-256 of the public key, 64 hexadecimal digits). Without it
the certificate is held against the key that stands in it, and the answer says which that is: compare it yourself.

Recomputed are the digests of every leaf, node, shared branch and package; the chain of ledger entries from the first
signature to the anchor, in which every signature must stand; the anchor's signature and the seal over everything. Two
different people must have signed the physical layer, and one person each role of any other.

Ends with 0: all of this holds. 1: something does not. 2: called wrongly. 3: all holds that could be looked at, but the
anchor or the signatures of the site's key could not. One line says what was verified, or what failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import unicodedata
from datetime import datetime
from pathlib import Path
from typing import Any

FORMAT = "1"
HELD, FAILED, MISUSED, UNCERTAIN = 0, 1, 2, 3
LAYERS = ["physical", "system", "framework", "data", "operations"]
PHYSICAL_ROLES = {"hardware", "platform"}
TOLD = ("digest", "round", "role", "meaning", "contributor")
MOST_BYTES = 512 * 1024 * 1024


class Failure(Exception):
    """Something does not hold; the message is one sentence."""


def main(arguments: list[str] | None = None) -> int:
    """Verify the certificate that the command line names."""
    parser = argparse.ArgumentParser(description="Verify a Countersign certificate offline.")
    parser.add_argument("certificate", help="the certificate, as JSON")
    parser.add_argument("--key-id", help="name of the site's ledger key, 64 hexadecimal digits", default="")
    asked = parser.parse_args(arguments)
    if asked.key_id and not is_hex(asked.key_id.lower(), 64):
        return say(MISUSED, "--key-id is 64 hexadecimal digits.")
    try:
        raw = Path(asked.certificate).read_bytes()
    except OSError as error:
        return say(MISUSED, f"{asked.certificate} cannot be read: {error.strerror}.")
    try:
        code, sentence = verify(raw, asked.key_id.lower())
    except Failure as failure:
        return say(FAILED, f"NOT VERIFIED: {failure}")
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        return say(FAILED, f"NOT VERIFIED: the certificate lacks a part, or has one of another form ({error!r}).")
    return say(code, sentence)


def say(code: int, sentence: str) -> int:
    """Say it in one line, whatever the certificate put into it."""
    sys.stdout.write("".join(one if one.isprintable() else "?" for one in sentence) + "\n")
    return code


def verify(raw: bytes, key_id: str = "") -> tuple[int, str]:
    """Exit code and sentence for the certificate *raw*.

    Raises:
        Failure: something does not hold.
    """
    body = read(raw)
    seal = body.pop("seal")
    covered = tagged("certificate", body)
    require(hashlib.sha256(covered).hexdigest() == seal["digest"], "the seal does not fit; something was changed.")
    require(set(seal) == {"digest", "signature"} and is_hex(seal["signature"], 128), "the seal has another form.")
    key = public_key(body, key_id)
    entries = chain(body["ledger"])
    require([layer["layer"] for layer in body["layers"]] == LAYERS, "a layer is missing, or stands twice.")
    for layer in body["layers"]:
        verify_layer(layer, body, entries)
    require_one_run([layer for layer in body["layers"] if layer["state"] == "signed"])
    anchored = verify_anchor(body, entries)
    unsure = [] if anchored else ["no anchor covers it yet; ask for the certificate again after the next one"]
    if not signed_by(key, seal["signature"], covered) or not anchor_signed(key, body.get("anchor")):
        unsure.append("the site's signatures could not be checked: install the Python package cryptography")
    return outcome(body, unsure, key_id)


def read(raw: bytes) -> dict[str, Any]:
    """The certificate; it must be written in the one canonical way, so that no byte can differ unseen."""
    require(len(raw) <= MOST_BYTES, "the file is larger than any certificate.")
    try:
        body = json.loads(raw.decode("utf-8"))
        written = canonical(body) + b"\n"
    except (RecursionError, UnicodeError, ValueError) as error:
        raise Failure(f"this is no certificate, or not as it was handed out ({error}).") from error
    require(isinstance(body, dict), "this is no certificate.")
    require(written == raw, "the file is not as it was handed out; something was changed, or it was saved anew.")
    require(body.get("format") == FORMAT, f"its format is not {FORMAT}; take a newer verify_certificate.py.")
    return dict(body)


def canonical(value: Any) -> bytes:
    """*value* in canonical form: texts, booleans, lists and objects; sorted ASCII keys, no spaces, NFC, UTF-8."""
    require_canonical(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode("utf-8")


def require_canonical(value: Any) -> None:
    """Complain about what has no canonical form, such as a number that is not written as text."""
    if isinstance(value, dict):
        for key, held in value.items():
            require(isinstance(key, str) and key.isascii(), "a name is not ASCII text.")
            require_canonical(held)
    elif isinstance(value, list):
        for held in value:
            require_canonical(held)
    elif isinstance(value, str):
        require(unicodedata.is_normalized("NFC", value), "a text is not in the form NFC.")
    else:
        require(isinstance(value, bool), "it holds a number or null, which stand as text or not at all.")


def tagged(kind: str, value: Any) -> bytes:
    """What is hashed or signed: the canonical form under its domain tag."""
    return b"countersign/" + kind.encode() + b"/1\0" + canonical(value)


def digest(kind: str, value: Any) -> str:
    """SHA-256 of *value* under its tag."""
    return hashlib.sha256(tagged(kind, value)).hexdigest()


def verify_layer(layer: dict[str, Any], body: dict[str, Any], entries: list[dict[str, Any]]) -> None:
    """One layer: what was signed, by whom, and that the ledger knows it."""
    name = layer["layer"]
    if "package" not in layer:
        require(layer["state"] != "signed" and not layer["signatures"], f"{name}: what was signed is missing.")
        return
    verify_package(layer)
    policy = layer["policy"]
    require(digest("policy", policy) == layer["package"]["header"]["policy"], f"{name}: the policy is another one.")
    for signature in layer["signatures"]:
        require(signature["digest"] == layer["digest"], f"{name}: a signature names another digest.")
        verify_in_ledger(signature, f"{body['run']}/{name}", entries)
    if layer["state"] == "signed":
        verify_signers(name, layer["signatures"], policy, body["issued_at"])
        verify_leaves(layer)


def verify_package(layer: dict[str, Any]) -> None:
    """Recompute every leaf, every branch and the top."""
    name, package, known = layer["layer"], layer["package"], layer["leaves"]
    for branch, leaves in known.items():
        hashes = [digest("leaf", leaf) for leaf in leaves]
        order = [(leaf["item"].encode(), leaf["subject"].encode()) for leaf in leaves]
        require(order == sorted(set(order)), f"{name}: leaves are not in order.")
        if branch == package["shared"]:
            expected = digest("shared", {"leaves": hashes}) if leaves else digest("empty", "shared")
        else:
            expected = digest("node", {"layer": name, "leaves": hashes}) if leaves else digest("empty", name)
        require(branch == expected, f"{name}: the leaves of {branch[:12]} are not those that were signed.")
    branches = {package["shared"], *package["nodes"].values()}
    require(branches == set(known), f"{name}: the leaves of a node or of the shared branch are missing.")
    nodes = [[uuid, package["nodes"][uuid]] for uuid in sorted(package["nodes"])]
    top = {"layer": name, "header": package["header"], "shared": package["shared"], "nodes": nodes}
    require(digest("package", top) == layer["digest"], f"{name}: the package is not the one that was signed.")


def verify_leaves(layer: dict[str, Any]) -> None:
    """Each leaf passes or does not apply, or fails under a waiver that was signed with it."""
    name, package = layer["layer"], layer["package"]
    told = {one["id"]: {key: one[key] for key in ("id", "item", "nodes", "until")} for one in layer["waivers"]}
    waivers = package["header"]["waivers"]
    require(all(told.get(one["id"]) == one for one in waivers), f"{name}: a waiver that was signed is missing.")
    for uuid, branch in [*package["nodes"].items(), ("", package["shared"])]:
        for leaf in layer["leaves"][branch]:
            covered = any(one["item"] == leaf["item"] and covers(one["nodes"], uuid) for one in waivers)
            good = leaf["settled"] in ("pass", "na") or (leaf["settled"] == "fail" and covered)
            require(good, f"{name}: {leaf['item']} is {leaf['settled']}, and no waiver covers it.")
    needed = package["header"]["run"].get("nodes_needed", "0")
    require(len(package["nodes"]) >= int(needed), f"{name}: fewer nodes were signed than the run needs.")


def covers(nodes: list[str], uuid: str) -> bool:
    """Whether a waiver for *nodes* speaks of this one; one without nodes speaks of the shared branch."""
    return uuid in nodes if uuid else not nodes


def verify_signers(name: str, signatures: list[dict[str, Any]], policy: dict[str, Any], issued_at: str) -> None:
    """Every role of the policy, each by another person, none taken back or ended."""
    roles = policy["layers"][name]["roles"]
    require(name != "physical" or set(roles) >= PHYSICAL_ROLES, "physical: the policy does not ask for both roles.")
    signed = [one["role"] for one in signatures]
    require(sorted(signed) == sorted(roles), f"{name}: signed by {signed}, and the policy asks for {roles}.")
    people = {one["signer"] for one in signatures}
    require(len(people) == len(roles), f"{name}: one person signed in more than one role.")
    require(len({one["round"] for one in signatures}) == 1, f"{name}: the signatures are of different rounds.")
    for one in signatures:
        require("revoked" not in one, f"{name}: the signature of {one['name']} was revoked.")
        require(moment(one["signed_at"]) <= moment(issued_at), f"{name}: a signature is younger than the certificate.")
        ended = "expires_at" in one and moment(one["expires_at"]) < moment(issued_at)
        require(not ended, f"{name}: the signature of {one['name']} had ended when the certificate was issued.")
        allowed = not one["contributor"] or policy["contributors_may_sign"]
        require(allowed, f"{name}: {one['name']} contributed to what was signed, and the policy forbids that.")


def verify_in_ledger(signature: dict[str, Any], target: str, entries: list[dict[str, Any]]) -> None:
    """The ledger tells the signature as the certificate does, and what became of it."""
    named = [entry for entry in entries if "data" in entry and entry["data"].get("signature") == signature["id"]]
    acts = [entry for entry in named if entry["what"] == "signed" and entry["target"] == target]
    require(len(acts) == 1, f"{target}: the signature of {signature['name']} is not in the ledger.")
    act = acts[0]
    same = act["who"] == signature["signer"] and act["name"] == signature["name"]
    same = same and all(act["data"][key] == signature[key] for key in TOLD)
    same = same and moment(act["at"]) == moment(signature["signed_at"])
    require(same, f"{target}: the ledger tells the signature of {signature['name']} otherwise.")
    revoked = any(entry["what"] == "signature_revoked" for entry in named)
    require(revoked == ("revoked" in signature), f"{target}: the certificate hides or invents a revocation.")


def require_one_run(signed: list[dict[str, Any]]) -> None:
    """All signed layers speak of the same run under the same policy."""
    seen = [(one["package"]["header"]["run"], one["package"]["header"]["policy"]) for one in signed]
    require(all(one == seen[0] for one in seen), "the layers were signed for different runs or policies.")


def chain(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ledger's entries, each of which follows the one before it; of another cluster's only the digest is told."""
    before: dict[str, Any] | None = None
    told = {entry["cluster_number"] for entry in entries if "act" not in entry}
    for entry in entries:
        number = entry["seq"]
        said = {key: held for key, held in entry.items() if key != "digest"}
        place = {key: said.pop(key) for key in ("seq", "previous", "cluster_number")}
        act = said["act"] if set(said) == {"act"} else digest("act", said)
        require(digest("ledger", place | {"act": act}) == entry["digest"], f"entry {number} of the ledger was changed.")
        hidden = "act" in entry and entry["cluster_number"] in told
        require(not hidden, f"entry {number} of the ledger is the run's own cluster's, and is hidden.")
        if before is not None:
            follows = int(number) == int(before["seq"]) + 1 and entry["previous"] == before["digest"]
            require(follows, f"entry {number} of the ledger does not follow the one before it.")
        before = entry
    return entries


def verify_anchor(body: dict[str, Any], entries: list[dict[str, Any]]) -> bool:
    """Whether there is an anchor; it must name the last entry."""
    anchor = body.get("anchor")
    if anchor is None:
        return False
    require(anchor["format"] == "countersign/anchor/1", "the anchor has another form.")
    last = entries[-1] if entries else {"seq": "", "digest": ""}
    held = anchor["seq"] == last["seq"] and anchor["head"] == last["digest"]
    require(held, "the anchor does not name the last entry of the ledger.")
    require(anchor["key_id"] == key_name(body), "the anchor was signed with another key.")
    return True


def public_key(body: dict[str, Any], key_id: str) -> bytes:
    """The site's public key, which must have the name that was asked for."""
    require(is_hex(body["public_key"], 64), "the public key has another form.")
    wrong = key_id and key_id != key_name(body)
    require(not wrong, f"it was sealed with the key {key_name(body)[:16]}…, which is not the one that you named.")
    return bytes.fromhex(body["public_key"])


def key_name(body: dict[str, Any]) -> str:
    """The name of a key: SHA-256 of its 32 bytes."""
    return hashlib.sha256(bytes.fromhex(body["public_key"])).hexdigest()


def anchor_signed(key: bytes, anchor: dict[str, Any] | None) -> bool:
    """Whether the anchor's signature could be checked; it then holds."""
    if anchor is None:
        return True
    said = {name: anchor[name] for name in ("seq", "head", "at", "key_id")}
    return signed_by(key, anchor["signature"], tagged("anchor", said))


def signed_by(key: bytes, signature: str, covered: bytes) -> bool:
    """Whether the Ed25519 signature could be checked; one that does not hold is a failure."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(signature), covered)
    except (InvalidSignature, ValueError) as error:
        raise Failure("a signature of the site's key does not hold.") from error
    return True


def outcome(body: dict[str, Any], unsure: list[str], key_id: str) -> tuple[int, str]:
    """What was verified, in one line."""
    layers = body["layers"]
    signed = [
        f"{one['layer']} by " + " and ".join(f"{sign['name']} ({sign['role']})" for sign in one["signatures"])
        for one in layers
        if one["state"] == "signed"
    ]
    others = ", ".join(f"{one['layer']} is {one['state']}" for one in layers if one["state"] != "signed")
    told = f"run {body['run']} of {body['site']}, issued {body['issued_at']}: " + ("; ".join(signed) or "nobody signed")
    told += f"; NOT SIGNED: {others}" if others else ""
    relaxed = any(one.get("policy", {}).get("contributors_may_sign") for one in layers)
    told += "; contributors were allowed to sign" if relaxed else ""
    told += f"; the gate was forced open {len(body['overrides'])} times" if body["overrides"] else ""
    told += "" if key_id else f"; sealed with the key {key_name(body)}, which you should compare with the site's"
    if unsure:
        return UNCERTAIN, f"VERIFIED IN PART ({'; '.join(unsure)}): {told}."
    return HELD, f"VERIFIED: {told}."


def moment(text: str) -> datetime:
    """A time with its zone."""
    found = datetime.fromisoformat(text)
    require(found.tzinfo is not None, f"{text} has no time zone.")
    return found


def is_hex(text: Any, length: int) -> bool:
    """Whether *text* is that many hexadecimal digits, in small letters."""
    return isinstance(text, str) and re.fullmatch(f"[0-9a-f]{{{length}}}", text) is not None


def require(held: bool, sentence: str) -> None:
    """Fail with *sentence* unless it holds."""
    if not held:
        raise Failure(sentence)


if __name__ == "__main__":
    sys.exit(main())
