"""Pictures and PDFs behind an attestation: each lies once under its digest, whole or not at all."""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError

MOST_BYTES: Final = 10 * 1024 * 1024
MOST_FILES: Final = 10
_LONGEST_NAME: Final = 150


class FileRefused(CountersignError):
    """The file is too large, of another kind than a picture or a PDF, or one of too many."""

    code = "file_refused"


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file as a browser sent it; its name tells people apart what they sent, and decides nothing."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that lies on disk: its bytes are what *digest* says."""

    digest: str
    name: str
    media_type: str
    size: int


def keep_files(files: Iterable[SentFile]) -> list[KeptFile]:
    """Store *files*; one that was sent twice is one.

    Raises:
        FileRefused: nothing was stored.
    """
    sent = list(files)
    if len(sent) > MOST_FILES:
        raise FileRefused(_("Send at most %(most)d files with one statement.") % {"most": MOST_FILES})
    kept = {one.digest: one for one in [_described(file) for file in sent]}
    by_digest = {hashlib.sha256(file.content).hexdigest(): file.content for file in sent}
    for digest in kept:
        _store(path_of(digest), by_digest[digest])
    return list(kept.values())


def path_of(digest: str) -> Path:
    """Where the bytes of that digest lie."""
    return Path(settings.VAR_DIR) / "evidence" / digest[:2] / digest


def media_type_of(content: bytes) -> str | None:
    """The type that the bytes themselves say; None for anything but PNG, JPEG, WebP and PDF."""
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS.items() if content.startswith(start)), None)


_STARTS: Final = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"%PDF-": "application/pdf",
}


def _described(file: SentFile) -> KeptFile:
    name = Path(file.name.replace("\\", "/")).name[:_LONGEST_NAME] or "file"
    if len(file.content) > MOST_BYTES:
        raise FileRefused(_("%(name)s is larger than 10 MB; send a smaller copy.") % {"name": name})
    media_type = media_type_of(file.content)
    if media_type is None:
        raise FileRefused(_("%(name)s is no PNG, JPEG, WebP or PDF; send it as one of these.") % {"name": name})
    return KeptFile(hashlib.sha256(file.content).hexdigest(), name, media_type, len(file.content))


def _store(path: Path, content: bytes) -> None:
    """Write aside, then rename: a reader finds the whole file or none, whenever the machine stops."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
