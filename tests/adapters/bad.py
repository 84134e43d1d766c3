"""Outputs of each tool in which something is wrong: damage must not make any of it pass."""

import json

from tests.adapters import samples
from tests.adapters.samples import component, diagnostic, result

#: Kind as ``readiness-agent parse`` calls it, and the text.
BAD: tuple[tuple[str, str], ...] = (
    ("dcgmi diag -j", samples.DCGMI_3),
    ("dcgmi diag -j", diagnostic(
        samples.a_test("pcie", *(result(gpu, "Pass", f"GPU {gpu} Host to GPU bandwidth:\t\t1{gpu}.5 GB/s")
                                  for gpu in range(8))),
        samples.a_test("software", result(1, "Fail", "", "Detected 4 volatile double-bit ECC error(s) in GPU 1.")),
    )),
    ("gpud states", json.dumps([
        component("accelerator-nvidia-ecc", "Unhealthy", "uncorrectable errors", samples.ecc_of(7)),
        component("accelerator-nvidia-persistence-mode", "Unhealthy", "off on two", samples.modes_of(2, 6)),
        component("accelerator-nvidia-error-xid", "Unhealthy", "XID 79 was detected"),
    ], indent=1)),
    ("nhc", samples.NHC),
    ("nccl-tests", samples.NCCL.replace("274.87  481.02      0", "114.87  201.02     17")),
    ("fio", samples.FIO.replace("16200000000", "162000000").replace("123600.5", "1236.5")),
    ("nvidia-health-validation", samples.VERDICT),
    ("superbench", samples.SUPERBENCH.replace("479.5", "79.5").replace("389.5", "38.5")),
)  # fmt: skip
