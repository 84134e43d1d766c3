"""Pages as PDF, printed by a Chromium on this host.

Chromium gets one file and nothing else: no network, no scripts, no secret of the portal's environment, and a directory
that is gone afterwards.
"""

import logging
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Final

from django.conf import settings
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError

#: Seconds. A record takes one or two; whoever waits longer than this has gone.
DEADLINE_S: Final = 20
#: Bytes. A record of 512 nodes is about 200 kB.
MOST_BYTES: Final = 8 * 1024 * 1024

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS: Final = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers have 64 MB of it
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--no-first-run",
    "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:1",  # and no address that needs no name: nothing listens there
)
# A browser takes a few hundred MB: a process prints one page at a time.
_printing = Lock()
_logger = logging.getLogger(__name__)


class CannotPrintError(CountersignError):
    """There is no Chromium on this host."""

    code = "cannot_print"
    status = 501


class PrinterBusyError(CountersignError):
    """Another page is being printed."""

    code = "printer_busy"
    status = 503


class PrintingFailedError(CountersignError):
    """Chromium was too slow, printed nothing, or far too much."""

    code = "printing_failed"
    status = 502


def chromium() -> str | None:
    """The program that prints: what CHROMIUM names, else a Chromium or Chrome on PATH; None where there is none."""
    names = (settings.CHROMIUM,) if settings.CHROMIUM else _NAMES
    return next((found for name in names if (found := shutil.which(name))), None)


def print_pdf(html: str) -> bytes:
    """*html*, a document that needs no other file, on paper.

    Raises:
        CannotPrintError, PrinterBusyError, PrintingFailedError: each says what to do.
    """
    program = chromium()
    if program is None:
        said = _("This portal has no Chromium to print with: install the package chromium there, or set CHROMIUM.")
        raise CannotPrintError(said)
    if not _printing.acquire(blocking=False):
        raise PrinterBusyError(_("Another record is being printed; try again in a few seconds."))
    try:
        # A short name: Chromium makes a socket in it, and a socket's path has 108 bytes.
        with TemporaryDirectory(prefix="print-", ignore_cleanup_errors=True) as place:
            return _printed(program, html, Path(place))
    finally:
        _printing.release()


def _printed(program: str, html: str, place: Path) -> bytes:
    page, paper = place / "page.html", place / "page.pdf"
    page.write_text(html, encoding="utf-8")
    flags = [*_FLAGS, f"--user-data-dir={place / 'profile'}", f"--print-to-pdf={paper}"]
    if os.geteuid() == 0:
        # Chromium's own sandbox refuses to run as root. What it is given is ours, without scripts, and fetches nothing.
        flags.append("--no-sandbox")
    said = _run([program, *flags, page.as_uri()], place)
    size = paper.stat().st_size if paper.exists() else 0
    if not 0 < size <= MOST_BYTES:
        _logger.error("Chromium printed %d bytes. %s", size, said)
        why = _("Chromium could not print it; the portal's log says why. Print it from your browser.")
        raise PrintingFailedError(why)
    return paper.read_bytes()


def _run(command: list[str], place: Path) -> str:
    """Run to the end or the deadline, in a process group of its own; the end of what it said."""
    log = place / "log"
    alone = {"HOME": str(place), "TMPDIR": str(place), "PATH": os.environ.get("PATH", os.defpath), "TZ": "UTC"}
    with log.open("wb") as out:
        ran = subprocess.Popen(
            command, cwd=place, env=alone, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        try:
            ran.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            _logger.error("Chromium did not print within %d s.", DEADLINE_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(ran.pid, signal.SIGKILL)
            ran.wait()
    return log.read_text(encoding="utf-8", errors="replace")[-2000:]
