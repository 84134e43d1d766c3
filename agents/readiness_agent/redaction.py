"""Takes out of a capture what names a machine or opens a door: serials, UUIDs, addresses, the hostname, secrets.

Each name gets the same stand-in throughout, so that what differed before still differs.
"""

from __future__ import annotations

import re
from typing import Dict, Match

GPU_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
MAC = re.compile(r"\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\b")
INFINIBAND_GUID = re.compile(r"\b(?:0x[0-9a-fA-F]{16}|[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3,7})\b")
IPV4 = re.compile(r"(?<![\w.])(?!127\.)(?!0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
SERIAL = re.compile(
    r"((?:serial|board_serial|uuid|guid|asset.?tag)[a-z_ ]*\"?\s*(?:>|[:=])\s*\"?)([A-Za-z0-9][\w-]{4,})", re.I
)
SECRET = re.compile(r"((?:password|passwd|secret|token|api.?key|credential)[\w-]*\"?\s*[:=]\s*\"?)([^\s\"<]{4,})", re.I)
URL_LOGIN = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")


SHORTEST_NAME = 4
"""A hostname such as ``vm`` names nobody, and taking it out would tear ``vm.swappiness`` apart."""

STAND_IN_NAME = "node"


class Redaction:
    """A function from text to text, with a memory for stand-ins."""

    def __init__(self, hostname: str) -> None:
        name = re.escape(hostname) if len(hostname) >= SHORTEST_NAME else r"(?!)"
        self._hostname = re.compile(rf"(?<![\w/])(?:{name})(?![\w/])", re.I)
        self._stand_ins: Dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """*text* without names and secrets."""
        text = URL_LOGIN.sub("removed", text)
        text = SECRET.sub(r"\1removed", text)
        text = GPU_UUID.sub(lambda found: self._numbered(found, f"{found[1]}-00000000-0000-4000-8000-{{:012d}}"), text)
        text = MAC.sub(lambda found: self._numbered(found, "02:00:00:00:00:{:02x}"), text)
        text = INFINIBAND_GUID.sub(lambda found: self._numbered(found, "0x{:016x}"), text)
        text = IPV4.sub(lambda found: self._numbered(found, "192.0.2.{}"), text)
        text = SERIAL.sub(lambda found: found[1] + self._stand_in(found[2], "serial-{}"), text)
        return self._hostname.sub(STAND_IN_NAME, text)

    def _numbered(self, found: Match[str], form: str) -> str:
        return self._stand_in(found[0], form)

    def _stand_in(self, name: str, form: str) -> str:
        if name in self._stand_ins.values():
            return name
        return self._stand_ins.setdefault(name, form.format(len(self._stand_ins) + 1))


def keep_everything(text: str) -> str:
    """The redaction that takes nothing out."""
    return text
