"""What one look of a probe leaves for the next one of the same boot: a JSON file in the agent's state directory.

All of it can be done without: a file that is missing, damaged, or made to harm is as if nothing had been remembered.
"""

from __future__ import annotations

import json
import os
from typing import Optional

from readiness_agent.files import MAX_OWN_BYTES
from readiness_agent.source import Json


def load_memory(directory: Optional[str], name: str, boot_id: str) -> Json:
    """What an earlier look of boot *boot_id* left; None where there is none."""
    if directory is None:
        return None
    try:
        with open(os.path.join(directory, name), "rb") as file:
            stored = json.loads(file.read(MAX_OWN_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(stored, dict) or stored.get("boot_id") != boot_id:
        return None
    answer: Json = stored.get("look")
    return answer


def save_memory(directory: Optional[str], name: str, boot_id: str, look: Json) -> None:
    """Keep *look*, whole or not at all (OSError); without a directory nothing is kept."""
    if directory is None:
        return
    path = os.path.join(directory, name)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"boot_id": boot_id, "look": look}, file)
    os.replace(temporary, path)
