"""Anchors as they are found outside, and the keys that tell whether one is ours."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from django.conf import settings

from checks.domain.errors import CountersignError
from checks.domain.ledger import Anchor

_END = "-----END"
# Far above the 0.5 kB of an anchor: a file of another kind in the directory must not fill the memory.
_LARGEST_FILE = 64 * 1024


class KeyUnusable(CountersignError):
    """The ledger's key file is missing, unreadable, or holds something else."""

    code = "ledger_key_unusable"


class CannotRead(CountersignError):
    """A place of anchors that cannot be looked into."""

    code = "anchors_unreadable"


class Standing(StrEnum):
    """Whether an anchor is ours."""

    GENUINE = "genuine"
    FORGED = "forged"
    KEY_UNKNOWN = "key_unknown"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file among the anchors that is none, or that cannot be read."""

    place: str
    why: str


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The key that signs anchors, if it is here, and the public ones of those that ever did, by their names."""

    signing: Ed25519PrivateKey | None = None
    public: Mapping[str, Ed25519PublicKey] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "KeyRing":
        """The keys in the PEM file *path*: one private key that signs, and public ones that signed before it.

        Raises:
            KeyUnusable: says what is wrong with the file.
        """
        try:
            blocks = _pem_blocks(path.read_text(encoding="ascii"))
            private = [load_pem_private_key(one, password=None) for one in blocks if b"PRIVATE KEY" in one]
            public = [load_pem_public_key(one) for one in blocks if b"PUBLIC KEY" in one]
        except OSError as error:
            raise KeyUnusable(f"LEDGER_KEY_FILE={path} cannot be read: {error.strerror}.") from error
        except (ValueError, TypeError) as error:
            raise KeyUnusable(f"LEDGER_KEY_FILE={path} holds a key that cannot be used: {error}") from error
        signing = [one for one in private if isinstance(one, Ed25519PrivateKey)]
        known = [one.public_key() for one in signing] + [one for one in public if isinstance(one, Ed25519PublicKey)]
        if len(signing) > 1 or not known or len(known) != len(private) + len(public):
            raise KeyUnusable(
                f"{path} must hold one Ed25519 private key, and besides it only public Ed25519 keys of before; make "
                "one with: openssl genpkey -algorithm ed25519"
            )
        return cls(signing[0] if signing else None, {name_of(one): one for one in known})

    @classmethod
    def of_settings(cls) -> "KeyRing":
        """The keys of this portal; empty where no key file is set.

        Raises:
            KeyUnusable: one is set and cannot be used.
        """
        return cls.read(Path(settings.LEDGER_KEY_FILE)) if settings.LEDGER_KEY_FILE else cls()

    def sign(self, anchor: Anchor) -> Anchor:
        """*anchor* under this portal's key.

        Raises:
            KeyUnusable: there is no private key here.
        """
        if self.signing is None:
            raise KeyUnusable("No key to sign anchors with: set LEDGER_KEY_FILE to a PEM file with an Ed25519 key.")
        unsigned = replace(anchor, key_id=name_of(self.signing.public_key()))
        return replace(unsigned, signature=self.signing.sign(unsigned.signed_bytes).hex())

    def standing(self, anchor: Anchor) -> Standing:
        """Whether one of these keys signed exactly that."""
        key = self.public.get(anchor.key_id)
        if key is None:
            return Standing.KEY_UNKNOWN
        try:
            key.verify(bytes.fromhex(anchor.signature), anchor.signed_bytes)
        except (InvalidSignature, ValueError):
            return Standing.FORGED
        return Standing.GENUINE


def name_of(key: Ed25519PublicKey) -> str:
    """The key's name: SHA-256 (hex) of its 32 raw bytes."""
    return sha256(key.public_bytes_raw()).hexdigest()


def anchors_in(directory: Path) -> Iterator[Anchor | Unreadable]:
    """Every anchor in the ``*.json`` files of *directory*, one at a time.

    Raises:
        CannotRead: there is no such directory, or it cannot be listed.
    """
    try:
        found = directory.glob("*.json") if directory.is_dir() else None
    except OSError as error:
        raise CannotRead(f"The anchors in {directory} cannot be read: {error.strerror}.") from error
    if found is None:
        raise CannotRead(f"There is no directory {directory}: name the one that holds the anchors.")
    for file in found:
        yield _read(file)


def anchors_outside() -> Iterator[Anchor | Unreadable]:
    """The anchors in every directory of LEDGER_ANCHORS; what was mailed cannot be read here."""
    for place in settings.LEDGER_ANCHORS:
        if place.startswith("mailto:"):
            continue
        try:
            yield from anchors_in(Path(place))
        except CannotRead as error:
            yield Unreadable(place, error.message)


def _read(file: Path) -> Anchor | Unreadable:
    try:
        with file.open("rb") as stream:
            return Anchor.read(json.loads(stream.read(_LARGEST_FILE)), place=str(file))
    except OSError as error:
        return Unreadable(str(file), f"{file} cannot be read: {error.strerror}.")
    except (ValueError, OverflowError) as error:
        return Unreadable(str(file), f"{file} holds no anchor: {error}.")


def _pem_blocks(text: str) -> list[bytes]:
    """Each block with its own BEGIN and END line."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        blocks[-1].append(line)
        if line.startswith(_END):
            blocks.append([])
    return ["\n".join(block).encode() + b"\n" for block in blocks if any(line.startswith(_END) for line in block)]
