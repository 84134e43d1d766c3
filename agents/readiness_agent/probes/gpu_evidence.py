"""The part of a report about GPUs that is worth keeping as evidence."""

from __future__ import annotations

import json
import re
from typing import Any, Dict

from readiness_agent.source import CommandResult

_LINES = re.compile(
    r"<(?:timestamp|driver_version|attached_gpus|gpu id=|product_name|uuid|persistence_mode|current_mig|vbios_version"
    r"|board_part_number|gpu_part_number|img_version|reset_required|gpu_recovery_action|(?:max|current)_link_(?:gen|width)"
    r"|performance_state|clocks_(?:event|throttle)_reason\w*(?:slowdown|power_cap|power_brake)|compute_mode|gpu_util"
    r"|current_ecc|[sd]ram_\w*correctable\w*|sram_threshold_exceeded|remapped_rows>N|remapped_row_(?:pending|failure)"
    r"|pending_retirement|gpu_temp>|gpu_temp_tlimit|sm_clock|state>|status>|cliqueId|clusterUuid|pid>|used_memory)"
)
_REPORT = "<nvidia_smi_log"
_MOST_OF_AN_ERROR = 2000
_NOT_SUPPORTED = 3


def smi_evidence(result: CommandResult) -> str:
    """The lines that facts are read from, without process names; all of it when there is no report."""
    if _REPORT not in result.stdout:
        return f"exit code {result.exit_code}\n{result.stdout[:_MOST_OF_AN_ERROR]}{result.stderr[:_MOST_OF_AN_ERROR]}"
    return "\n".join(line.strip() for line in result.stdout.splitlines() if _LINES.search(line))


def nvml_evidence(raw: Any) -> str:
    """NVML's answers, one line a GPU, without those about single links and what is not supported."""
    node = {name: value for name, value in raw["values"].items() if name in ("driver", "cuda", "count")}
    return "\n".join([json.dumps(node), *(json.dumps(_shown(gpu)) for gpu in raw["gpus"])])


def _shown(gpu: Dict[str, Any]) -> Dict[str, Any]:
    shown = {name: value for name, value in gpu["values"].items() if " link " not in name}
    refused = {name: code for name, code in gpu["errors"].items() if code != _NOT_SUPPORTED}
    return {**shown, "refused": refused} if refused else shown
