"""The part of nvidia-smi's report that is worth keeping as evidence."""

from __future__ import annotations

import re

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


def smi_evidence(result: CommandResult) -> str:
    """The lines that facts are read from, without process names; all of it when there is no report."""
    if _REPORT not in result.stdout:
        return f"exit code {result.exit_code}\n{result.stdout[:_MOST_OF_AN_ERROR]}{result.stderr[:_MOST_OF_AN_ERROR]}"
    return "\n".join(line.strip() for line in result.stdout.splitlines() if _LINES.search(line))
