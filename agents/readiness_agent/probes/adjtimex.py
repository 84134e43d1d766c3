"""The system call adjtimex(2), which only reads here."""

from __future__ import annotations

import os

from readiness_agent.source import Json

_BEFORE_SHIFT = ("constant", "precision", "tolerance", "time_sec", "time_usec", "tick", "ppsfreq", "jitter")
_AFTER_SHIFT = ("stabil", "jitcnt", "calcnt", "errcnt", "stbcnt")


def adjtimex() -> Json:
    """What the kernel says about its clock: the call's result, and the fields that tell synchronization and offset."""
    import ctypes

    class Timex(ctypes.Structure):
        """``struct timex`` of linux/timex.h; the tail is only reserved."""

        _fields_ = [
            ("modes", ctypes.c_uint),
            ("offset", ctypes.c_long),
            ("freq", ctypes.c_long),
            ("maxerror", ctypes.c_long),
            ("esterror", ctypes.c_long),
            ("status", ctypes.c_int),
            *[(name, ctypes.c_long) for name in _BEFORE_SHIFT],
            ("shift", ctypes.c_int),
            *[(name, ctypes.c_long) for name in _AFTER_SHIFT],
            ("tail", ctypes.c_int * 16),
        ]

    clock = Timex(modes=0)
    result = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(clock))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return {
        "ret": result,
        "offset": clock.offset,
        "maxerror": clock.maxerror,
        "esterror": clock.esterror,
        "status": clock.status,
    }
