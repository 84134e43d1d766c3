"""Takes out of a capture what names a machine or opens a door: serials, UUIDs, addresses, the hostname, secrets.

Each name gets the same stand-in throughout, so that what differed before still differs.
"""

from __future__ import annotations

import re
import socket
from typing import Dict, Match, Pattern

UUID = re.compile(r"\b((?:GPU|MIG)-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
MAC = re.compile(r"\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\b|\b[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5}\b")
INFINIBAND_GUID = re.compile(r"\b(?:0x[0-9a-fA-F]{16}|[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3,7})\b")
IPV4 = re.compile(r"(?<![\w.])(?!127\.)(?!0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\w)")
IPV6 = re.compile(r"(?<![\w:.])(?=[0-9a-fA-F]*:[0-9a-fA-F]*:)[0-9a-fA-F:]{3,39}(?![\w:])")
REFERENCE_ID = re.compile(r"(Reference ID\s*:\s*)(?!00000000|7F7F)([0-9A-F]{8})\b")
"""Of ``chronyc tracking``: the address of the server, in hexadecimal."""
SERIAL = re.compile(
    r"((?:serial|board_serial|uuid|guid|asset.?tag)[a-z_ ]*\"?\s*(?:>|[:=])\s*\"?)([A-Za-z0-9][\w-]{4,})", re.I
)
SECRET = re.compile(
    r"((?:password|passwd|secret|token|api.?key|credential)[\w-]*\"?\s*[:=]\s*\"?)([^\s\"<]{4,})"
    r"|((?:bearer|basic)\s+)([^\s\"<]{8,})|\b()(cs_[a-z]+_[\w-]{4,})",
    re.I,
)
URL_LOGIN = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")

IDENTIFIER_FILE = re.compile(r"(?:serial|_uuid|asset_tag|machine-id|hostname)\Z")
"""A file that holds one name of this machine, and nothing that says so."""

SHORTEST_NAME = 4
"""A hostname such as ``vm`` names nobody, and taking it out would tear ``vm.swappiness`` apart."""

STAND_IN_NAME = "node"


class Redaction:
    """A function from text to text, with a memory for stand-ins."""

    def __init__(self, *hostnames: str) -> None:
        self._hostnames = [_pattern(name) for name in hostnames if len(name) >= SHORTEST_NAME]
        self._stand_ins: Dict[str, str] = {}

    def __call__(self, text: str, path: str = "") -> str:
        """*text* without names and secrets; *path* is the file that holds it."""
        if IDENTIFIER_FILE.search(path) and text.strip():
            return self._stand_in(text.strip(), "serial-{}") + "\n"
        text = URL_LOGIN.sub("removed", text)
        text = SECRET.sub(lambda found: (found[1] or found[3] or "") + "removed", text)
        text = UUID.sub(lambda found: self._numbered(found, f"{found[1] or ''}00000000-0000-4000-8000-{{:012d}}"), text)
        text = MAC.sub(lambda found: self._numbered(found, "02:00:00:00:00:{:02x}"), text)
        text = IPV6.sub(self._ipv6, text)
        text = INFINIBAND_GUID.sub(lambda found: self._numbered(found, "0x{:016x}"), text)
        text = IPV4.sub(lambda found: self._numbered(found, "192.0.2.{}"), text)
        text = REFERENCE_ID.sub(lambda found: found[1] + self._stand_in(found[2], "C0{:06X}"), text)
        text = SERIAL.sub(lambda found: found[1] + self._stand_in(found[2], "serial-{}"), text)
        for hostname in self._hostnames:
            text = hostname.sub(STAND_IN_NAME, text)
        return text

    def _ipv6(self, found: Match[str]) -> str:
        """Times of day and PCI addresses have colons, too."""
        try:
            packed = socket.inet_pton(socket.AF_INET6, found[0])
        except OSError:
            return found[0]
        is_own = packed[:-1] == bytes(15)  # :: and ::1 are the same on every machine
        return found[0] if is_own else self._numbered(found, "2001:db8::{:x}")

    def _numbered(self, found: Match[str], form: str) -> str:
        return self._stand_in(found[0], form)

    def _stand_in(self, name: str, form: str) -> str:
        if name in self._stand_ins.values():
            return name
        return self._stand_ins.setdefault(name, form.format(len(self._stand_ins) + 1))


def keep_everything(text: str, path: str = "") -> str:
    """The redaction that takes nothing out."""
    return text


def _pattern(hostname: str) -> Pattern[str]:
    """*hostname* with whatever domain follows it. One without a digit can be a word of a path, and stays in paths."""
    edge = r"\w" if re.search(r"\d", hostname) else r"\w/"
    return re.compile(rf"(?<![{edge}]){re.escape(hostname)}(?![{edge}])(?:\.[a-z][\w-]*)*", re.I)
