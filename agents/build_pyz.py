#!/usr/bin/env python3
"""Builds ``readiness-agent.pyz``: the whole agent in one file that ``python3 FILE`` runs.

The same sources give the same bytes, whenever and wherever it is built, so that its SHA-256 says what is in it. The
portal serves exactly this file.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
INTERPRETER = b"#!/usr/bin/env python3\n"
MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The oldest time a zip can hold, in place of the build's own."""


def build(source: Path) -> bytes:
    """Pack ``__main__.py`` and the package below *source*."""
    packed = io.BytesIO(INTERPRETER)
    packed.seek(0, io.SEEK_END)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted([source / "__main__.py", *(source / "readiness_agent").rglob("*.py")]):
            entry = zipfile.ZipInfo(str(path.relative_to(source)), MADE_AT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return packed.getvalue()


def main() -> int:
    """Write the archive and its checksum."""
    parser = argparse.ArgumentParser(description="Build readiness-agent.pyz and its SHA-256.")
    parser.add_argument("-o", "--output", type=Path, default=Path("readiness-agent.pyz"), help="file to write")
    options = parser.parse_args()
    content = build(HERE)
    options.output.write_bytes(content)
    options.output.chmod(0o755)
    line = f"{hashlib.sha256(content).hexdigest()}  {options.output.name}\n"
    options.output.with_name(options.output.name + ".sha256").write_text(line)
    print(line, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
