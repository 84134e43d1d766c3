"""Probes of the day, known by name and items: their modules are loaded when one of them runs, in its own process.

A tick comes each minute and a daily round once: what only that needs must not be loaded by all the others.
"""

from __future__ import annotations

from typing import Tuple

from readiness_agent.facts import ProbeResult
from readiness_agent.source import Probe, ProbeContext, Source


def later(constant: str, module: str, name: str, items: Tuple[str, ...], deadline: float = 12.0) -> Probe:
    """The probe *constant* of ``readiness_agent.probes.MODULE``, which says the same of itself."""

    def run(source: Source, context: ProbeContext) -> ProbeResult:
        loaded = __import__(f"readiness_agent.probes.{module}", fromlist=[constant])
        result: ProbeResult = getattr(loaded, constant).run(source, context)
        return result

    return Probe(name, items, "daily", run, deadline)


DAILY: Tuple[Probe, ...] = (
    later(
        "TRAINING",
        "training",
        "training",
        (
            "trainer-lib-pinned",
            "python-env-uniform",
            "nccl-cuda-match",
            "nccl-no-system",
            "image-uniform",
        ),
        deadline=15.0,
    ),
    later("DRIVER", "driver", "driver", ("driver-cuda-match",)),
    later("NVME", "nvme", "nvme", ("nvme-health",)),
    later("QOS", "qos", "qos", ("net-switch-qos",)),
    later("ACS", "acs", "acs", ("iommu-acs",)),
)
