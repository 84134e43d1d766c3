"""Where a checkout keeps its data between runs: ``var/``, with secrets and logs, used by one supervisor at a time."""

import fcntl
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from portal.quickstart.errors import QuickstartError

# A first start writes about 95 MiB; a later one grows logs and the write-ahead log.
ROOM_AT_FIRST = 160 << 20
ROOM_LATER = 48 << 20
CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Place:
    """The directory ``var/`` of one checkout."""

    var: Path

    @classmethod
    def of_this_checkout(cls) -> "Place":
        """``var/`` beside ``manage.py``, or the directory that COUNTERSIGN_VAR names."""
        return cls(Path(os.environ.get("COUNTERSIGN_VAR", CHECKOUT / "var")).absolute())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep every other supervisor out; the kernel lets go of it when we die, however we die.

        Raises:
            QuickstartError: another one is running.
        """
        try:
            self.var.mkdir(parents=True, exist_ok=True)
            lock = (self.var / "lock").open("w")
        except OSError as error:
            raise QuickstartError(f"{self.var} cannot be written ({error.strerror}): make it yours.") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise QuickstartError(f"This checkout already runs at {self.address()}: stop it first.") from None
            yield

    @property
    def notes(self) -> Path:
        """What the person needs to know: address, sign-in, tokens."""
        return self.var / "quickstart.json"

    @property
    def environment(self) -> Path:
        """The environment of the running portal, for ``python -m portal.quickstart manage``."""
        return self.var / "environment.json"

    def address(self) -> str:
        """The address that was written down last."""
        notes = read_json(self.notes)
        return str(notes.get("url", "an unknown address"))

    def log(self, name: str) -> Path:
        return self.var / "log" / f"{name}.log"

    def secret(self, name: str, *, prefix: str = "") -> Path:
        """A file with a random secret, made on first use."""
        path = self.var / "secrets" / name
        if not path.exists():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_private(path, prefix + secrets.token_urlsafe(48))
        return path

    def ledger_key(self) -> Path:
        """A file with the key that signs the ledger's heads, made on first use."""
        path = self.var / "secrets" / "ledger_key"
        if not path.exists():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            key = Ed25519PrivateKey.generate()
            write_private(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())
        return path

    def anchors(self) -> Path:
        """The directory that stands for a place outside: beside the database, not in it."""
        path = self.var / "anchors"
        path.mkdir(mode=0o700, exist_ok=True)
        return path


def read_json(path: Path) -> dict[str, Any]:
    """The object in *path*; empty when there is no such file or it was cut off."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write *value* for our eyes only, whole or not at all."""
    write_private(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600, whole or not at all."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    unfinished.replace(path)


def require_room(place: Place) -> None:
    """Refuse a disk that is too full to start on: the servers' own words about that name no disk.

    Raises:
        QuickstartError: less is free than a start needs.
    """
    needed = ROOM_LATER if (place.var / "postgres").exists() else ROOM_AT_FIRST
    free = shutil.disk_usage(place.var).free
    if free < needed:
        raise QuickstartError(
            f"{place.var} lies on a disk with {free >> 20} MiB free, and {needed >> 20} MiB are needed: make room, or "
            "set COUNTERSIGN_VAR to a directory on another disk."
        )


def _another(port: int) -> int:
    return port + 1 if port < 65535 else 8000


def require_free_port(port: int) -> None:
    """Refuse a port that somebody listens on.

    Raises:
        QuickstartError: it is taken, or may not be used.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise QuickstartError(
                f"Port {port} cannot be used ({error.strerror}): choose another with make run PORT={_another(port)}."
            ) from error
