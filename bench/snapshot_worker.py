"""One put or open of a snapshot, or what is compared with it, in a process of its own: its time and its memory.

``python -m bench.snapshot_worker TASK DSN FOLDER BYTES`` prints JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyleases
from pyleases.lease import Lease

CHUNK = 1 << 20


def chunks(size: int) -> Iterator[bytes]:
    """Give so many bytes; what does not compress, and the same megabytes again and again."""
    block = os.urandom(CHUNK)
    for start in range(0, size, CHUNK):
        yield block[: min(CHUNK, size - start)]


def put(lease: Lease, _folder: Path, size: int) -> None:
    lease.put_snapshot(0, chunks(size))


def write(_lease: Lease, folder: Path, size: int) -> None:
    """Write, sync and rename, and sync the folder: what anybody does who wants a whole file."""
    half = folder / "written.half"
    with half.open("wb") as out:
        for chunk in chunks(size):
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    half.rename(folder / "written")
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def open_(lease: Lease, _folder: Path, size: int) -> None:
    with lease.open_snapshot() as body:
        if body is None or _drain(body.readinto) != size:
            raise RuntimeError("the snapshot was not read whole")


def read(_lease: Lease, folder: Path, size: int) -> None:
    with (folder / "written").open("rb", buffering=0) as body:
        if _drain(body.readinto) != size:
            raise RuntimeError("the file was not read whole")


def _drain(readinto: object) -> int:
    buffer = memoryview(bytearray(CHUNK))
    total = 0
    while count := readinto(buffer):  # type: ignore[operator]
        total += count
    return total


def peak_memory() -> int:
    """Return the most bytes this process had resident; rusage would count the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel does not say how much memory was used")


TASKS = {"put": put, "write": write, "open": open_, "read": read}


def main(task: str, dsn: str, folder: str, size: str) -> None:
    with pyleases.connect(dsn, snapshots=folder) as leases:
        lease = leases.lease_group(leases.register_node("bench"))
        if lease is None:
            raise RuntimeError("there is nothing to lease")
        with lease:
            before = peak_memory()
            begin = time.perf_counter()
            TASKS[task](lease, Path(folder), int(size))
            seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "peak": peak_memory(), "before": before}))


if __name__ == "__main__":
    main(*sys.argv[1:])
