"""A stand-in for ``ib_write_bw`` on a machine without an RDMA card: its command line, its words, its exit codes.

Two of them meet over TCP as perftest's own do, last as long as they are told to, and report the slower card's rate in
perftest's table. Nothing is measured: it stands for hardware that is not here.
"""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPT = """#!{python} -I
import socket, sys, time

RATE, HELP = {rate!r}, {help!r}
args = sys.argv[1:]
if "--help" in args:
    print(HELP)
    sys.exit(0)
valued = ("-d", "-i", "-p", "-s", "-D", "-f", "-x")
given, plain, place = {{}}, [], 0
while place < len(args):
    if args[place] in valued:
        given[args[place]] = args[place + 1]
        place += 2
    else:
        plain.append(args[place])
        place += 1
hosts = [one for one in plain if not one.startswith("-")]
port = int(given["-p"])
if {fails!r}:
    print(" Completion with error at client\\n Failed status 12: wr_id 0 syndrom 0x81 scnt=128, ccnt=0")
    sys.exit(1)
if hosts:
    try:
        link = socket.create_connection((hosts[0], port), timeout=5)
    except OSError:
        sys.stderr.write("Couldn't connect to %s:%d\\nUnable to open file descriptor for socket connection"
                         " Unable to init the socket connection\\n" % (hosts[0], port))
        sys.exit(1)
else:
    print("\\n************************************\\n* Waiting for client to connect... *\\n"
          "************************************", flush=True)
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("0.0.0.0", port))
    door.listen(1)
    link = door.accept()[0]
link.settimeout(None)
link.sendall(b"%12.2f" % RATE)
theirs = link.recv(12, socket.MSG_WAITALL)
if len(theirs) < 12:
    sys.stderr.write("Couldn't read remote address\\n")
    sys.exit(1)
seconds, rate, size = int(given["-D"]), min(RATE, float(theirs)), int(given["-s"])
time.sleep(seconds)
link.sendall(b".")
if not link.recv(1):
    sys.stderr.write("Couldn't read remote address\\n")
    sys.exit(1)
line = "-" * 87
print(line)
print("                    RDMA_Write BW Test")
print(" Dual-port       : OFF\\t\\tDevice         : %s" % given["-d"])
print(" Number of qps   : 1\\t\\tTransport type : IB")
print(" Connection type : RC\\t\\tUsing SRQ      : OFF")
print(" Mtu             : 4096[B]\\n Link type       : IB")
print(line)
print(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]")
count = int(rate * 1e9 * (seconds - 2) / 8 / size)
print(" %-10d %-14d %-18s %-20.2f %.6f" % (size, count, "0.00", rate, rate * 1e3 / 8 / size))
print(line)
"""
HELP = "Usage:\n  ib_write_bw            start a server\n  -d, --ib-dev=<dev>\n      --use_cuda=<cuda device id>"


def install(directory: Path, rate: float, *, cuda: bool = True, fails: bool = False) -> Path:
    """An ``ib_write_bw`` in *directory* whose card reaches *rate* Gb/s, or that never gets a packet across."""
    directory.mkdir(parents=True, exist_ok=True)
    words = HELP if cuda else HELP.replace("--use_cuda", "--odp")
    tool = directory / "ib_write_bw"
    tool.write_text(SCRIPT.format(python=sys.executable, rate=rate, help=words, fails=fails))
    tool.chmod(0o755)
    return directory


def make_card(root: Path, device: str, *, pci: str = "0000:3b:00.0") -> None:
    """The files of one NDR card on sixteen lanes of generation 5, as sysfs has them, below *root*."""
    port = root / device / "ports" / "1"
    port.mkdir(parents=True)
    for name, text in {
        "state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand",
    }.items():  # fmt: skip
        (port / name).write_text(text + "\n")
    (root / device / "hca_type").write_text("MT4129\n")
    slot = root / device / "device"
    slot.mkdir()
    (slot / "uevent").write_text(f"DRIVER=mlx5_core\nPCI_SLOT_NAME={pci}\n")
    (slot / "current_link_speed").write_text("32.0 GT/s PCIe\n")
    (slot / "current_link_width").write_text("16\n")
