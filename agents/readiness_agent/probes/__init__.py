"""What to read and which parser reads it, one module a subject. A probe measures; it holds no threshold."""

from __future__ import annotations

from typing import Tuple

from readiness_agent.probes.checkpoint import CHECKPOINT
from readiness_agent.probes.clock import CLOCK
from readiness_agent.probes.cpufreq import CPUFREQ
from readiness_agent.probes.gpu import GPU
from readiness_agent.probes.kernel import KERNEL
from readiness_agent.probes.later import DAILY
from readiness_agent.probes.limits import LIMITS
from readiness_agent.probes.memory import MEMORY
from readiness_agent.probes.nic import NIC_QUEUES
from readiness_agent.probes.numa import NUMA
from readiness_agent.probes.rdma import RDMA
from readiness_agent.probes.rendezvous import RENDEZVOUS
from readiness_agent.probes.room import ROOM
from readiness_agent.probes.shm import SHM
from readiness_agent.probes.storage import STORAGE
from readiness_agent.probes.xid import XID
from readiness_agent.source import Probe

PROBES: Tuple[Probe, ...] = (
    GPU,
    *DAILY,
    ROOM,
    RDMA,
    XID,
    KERNEL,
    LIMITS,
    NUMA,
    CPUFREQ,
    CLOCK,
    MEMORY,
    STORAGE,
    CHECKPOINT,
    NIC_QUEUES,
    SHM,
    RENDEZVOUS,
)
"""All probes; the slowest first, because a few of them run at once."""
