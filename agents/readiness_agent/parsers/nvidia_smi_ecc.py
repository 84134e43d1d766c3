"""Memory errors of one GPU in the report of ``nvidia-smi -q -x``, under the names of all driver generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from readiness_agent.parsers.nvidia_smi_cells import count, state

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

RETIRED_PAGES_MAX = 64
"""Pages that the table of a GPU without row remapping can hold (NVIDIA, Dynamic Page Retirement)."""


def volatile_uncorrectable(gpu: Element) -> Optional[int]:
    """Uncorrectable errors since the driver was loaded, in SRAM (parity and SEC-DED) and DRAM.

    A part above zero is kept as a lower bound when the other is unknown: it is bad enough.
    """
    if gpu.find("ecc_errors/volatile/double_bit") is not None:  # parts before Turing
        return count(gpu.findtext("ecc_errors/volatile/double_bit/total"))
    sram, dram = sram_uncorrectable(gpu, "volatile"), count(gpu.findtext("ecc_errors/volatile/dram_uncorrectable"))
    return _sum(sram, dram) if _sum(sram, dram) is not None else (sram or dram or None)


def volatile_correctable(gpu: Element) -> Optional[int]:
    """Corrected errors since the driver was loaded, in SRAM and DRAM."""
    if gpu.find("ecc_errors/volatile/single_bit") is not None:
        return count(gpu.findtext("ecc_errors/volatile/single_bit/total"))
    return _sum(
        count(gpu.findtext("ecc_errors/volatile/sram_correctable")),
        count(gpu.findtext("ecc_errors/volatile/dram_correctable")),
    )


def sram_uncorrectable(gpu: Element, period: str) -> Optional[int]:
    """Parity and SEC-DED together, *period* ``volatile`` or ``aggregate``: one element before driver 550, two since."""
    block = f"ecc_errors/{period}/sram_uncorrectable"
    if gpu.find(block) is not None:
        return count(gpu.findtext(block))
    return _sum(count(gpu.findtext(block + "_parity")), count(gpu.findtext(block + "_secded")))


def remap_pending(gpu: Element) -> Optional[bool]:
    """Rows waiting for a reset to be remapped; on parts that retire pages, pages waiting for it."""
    rows = state(gpu.findtext("remapped_rows/remapped_row_pending"))
    if rows is not None:
        return rows
    pages = state(gpu.findtext("retired_pages/pending_retirement"))
    return state(gpu.findtext("retired_pages/pending_blacklist")) if pages is None else pages


def remap_failed(gpu: Element) -> Optional[bool]:
    """Whether a row could not be remapped; on parts that retire pages, whether their table is full."""
    rows = state(gpu.findtext("remapped_rows/remapped_row_failure"))
    if rows is not None:
        return rows
    causes = ("multiple_single_bit_retirement", "double_bit_retirement")
    retired = _sum(*(count(gpu.findtext(f"retired_pages/{cause}/retired_count")) for cause in causes))
    return None if retired is None else retired >= RETIRED_PAGES_MAX


def _sum(*parts: Optional[int]) -> Optional[int]:
    """The sum, when every part is known."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
