"""Where notices go beside people's mail: chats and web hooks, as NOTIFY_FILE names them.

Their addresses hold secrets, so they are written down nowhere: a destination is known by the digest of its address, and
shown as its kind.
"""

import hashlib
import logging
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import apprise
from django.conf import settings

EVERY_CLUSTER: Final = "*"
_KEYS: Final = {"language", "destinations"}
# Only to the addresses that the operator wrote down, wherever those would like to send us.
_ASSET: Final = apprise.AppriseAsset(http_redirects=False, app_id="Countersign", app_desc="Countersign")
_ADDRESS: Final = re.compile(r"\S*://\S*")
_LONGEST = 300


class NotifyFileInvalid(Exception):
    """NOTIFY_FILE cannot be read as what it should be; the sentence names the place in it, never the address."""


class NotDelivered(Exception):
    """A destination did not take a message; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Destination:
    """One chat or web hook; *cluster* is a slug, or ``*`` for the whole site."""

    cluster: str
    service: str
    url: str

    @property
    def key(self) -> str:
        """What finds it in the file again."""
        return hashlib.sha256(self.url.encode()).hexdigest()

    @property
    def shown(self) -> str:
        """What people read: its kind, and whose notices it takes."""
        return f"{self.service} ({self.cluster})"


@dataclass(frozen=True, slots=True)
class Destinations:
    """The file: destinations, and the language that they are written to in."""

    language: str
    every: tuple[Destination, ...] = ()

    def of(self, cluster: str | None) -> tuple[Destination, ...]:
        """Where notices about *cluster* go; those about the whole site (None) go to the destinations of all."""
        return tuple(one for one in self.every if one.cluster in (EVERY_CLUSTER, cluster))

    def find(self, key: str) -> Destination | None:
        """The destination with that digest, if the file still names it."""
        return next((one for one in self.every if one.key == key), None)


def destinations() -> Destinations:
    """What NOTIFY_FILE says now; nothing where the setting is empty.

    Raises:
        NotifyFileInvalid: it is set, and cannot be read as what it should be.
    """
    if not settings.NOTIFY_FILE:
        return Destinations("en")
    document = _read(Path(settings.NOTIFY_FILE))
    if unknown := sorted(document.keys() - _KEYS):
        raise NotifyFileInvalid(f"NOTIFY_FILE: {unknown[0]!r} means nothing; it has language and [destinations].")
    language, named = document.get("language", "en"), document.get("destinations", {})
    if language not in dict(settings.LANGUAGES):
        known = " or ".join(repr(code) for code, _name in settings.LANGUAGES)
        raise NotifyFileInvalid(f"NOTIFY_FILE: language is {known}.")
    if not isinstance(named, dict):
        raise NotifyFileInvalid('NOTIFY_FILE: [destinations] is a table of lists, by cluster or "*".')
    found = [_destination(cluster, number, url) for cluster, number, url in _listed(named)]
    return Destinations(str(language), tuple(found))


def deliver(to: Destination, *, title: str, body: str, loud: bool) -> None:
    """Send one message; waits a few seconds at most for each destination.

    Raises:
        NotDelivered: it was not taken.
    """
    sender = apprise.Apprise(asset=_ASSET)
    sender.add(to.url)
    kind = apprise.NotifyType.FAILURE if loud else apprise.NotifyType.INFO
    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as said:  # type: ignore[no-untyped-call]
        taken = sender.notify(title=title, body=body, notify_type=kind)
        lines = said.getvalue().strip().splitlines()
    if not taken:
        why = _ADDRESS.sub("…", lines[0]) if lines else "it gave no reason"
        raise NotDelivered(f"{to.shown}: {why}"[:_LONGEST])


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotifyFileInvalid(f"NOTIFY_FILE={str(file)!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise NotifyFileInvalid(f"NOTIFY_FILE={str(file)!r} is no UTF-8 text.") from error
    except tomllib.TOMLDecodeError as error:
        raise NotifyFileInvalid(f"NOTIFY_FILE is no TOML: {error}.") from error


def _listed(named: dict[str, Any]) -> list[tuple[str, int, Any]]:
    for cluster, urls in named.items():
        if not isinstance(urls, list):
            raise NotifyFileInvalid(f"NOTIFY_FILE: {cluster!r} is a list of addresses, even with one in it.")
    return [(cluster, number, url) for cluster, urls in named.items() for number, url in enumerate(urls, start=1)]


def _destination(cluster: str, number: int, url: object) -> Destination:
    found = apprise.Apprise.instantiate(url, suppress_exceptions=True) if isinstance(url, str) else None
    if found is None:
        raise NotifyFileInvalid(f"NOTIFY_FILE: address {number} of {cluster!r} is none that apprise knows.")
    return Destination(cluster, str(found.service_name), str(url))
