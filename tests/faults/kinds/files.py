"""Disks that are full or fail, and snapshot files that were harmed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path

import psycopg

import pyleases
from tests.faults.kinds.base import Kind
from tests.faults.world import World

_DISK = 64 << 20  # bytes

# A lane that is held, and has another snapshot to fall back to.
_CURRENT = """
select s.group_id, s.lane, s.file, s.before, g.lease_id
from leases.group_status as g
join (
    select k.group_id, k.lane, k.snapshot_id, k.file,
        lag(k.file) over (partition by k.group_id, k.lane order by k.snapshot_id) as before
    from leases.snapshots as k where k.status = 'kept'
) as s on s.snapshot_id = g.snapshot_id
where g.lease_id is not null and s.before is not null
order by random() limit 5
"""


class Files(Kind):
    """ENOSPC, short writes, EIO; snapshots truncated, flipped, deleted, and read then; sweeps all the time."""

    name = "files"

    def __init__(self) -> None:
        self._disk: Path | None = None

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        if self._disk:
            subprocess.run(["umount", "--lazy", self._disk], check=False)

    def prepare(self, here: World) -> None:
        here.told["bad_disk"] = 0.01
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK},mode=777", "tmpfs", here.snapshots]
        if os.geteuid() == 0 and not subprocess.run(mount, check=False).returncode:
            self._disk = here.snapshots

    def strike(self, here: World) -> str | None:
        if self._disk and here.dice.random() < 0.3:
            return _fill(here)
        return _harm(here)

    def heal(self, here: World) -> None:
        here.told["bad_disk"] = 0.0


def _fill(here: World) -> str:
    """Fill the file system to the last page for a while."""
    ballast = here.snapshots / "ballast"
    until = time.monotonic() + here.dice.uniform(0.3, 1.5)
    try:
        with ballast.open("wb", buffering=0) as out:
            while time.monotonic() < until:
                with contextlib.suppress(OSError):
                    while out.write(bytes(4096)):
                        pass
                time.sleep(0.01)
    finally:
        ballast.unlink()
    return "the disk full"


def _harm(here: World) -> str | None:
    """Harm a lane's current snapshot, and have the lane taken by another holder."""
    for row in here.ask(_CURRENT):
        if row["file"] in here.harmed or row["before"] in here.harmed:
            continue
        path = here.snapshots / row["file"]
        if not path.exists():
            continue
        here.harmed.add(row["file"])
        how = here.dice.choice([_truncate, _flip, _delete])
        how(path, here.dice.random())
        with contextlib.suppress(psycopg.errors.LockNotAvailable, pyleases.LeaseLost):  # as good
            here.ask(
                "select leases.end_lease(lease_id) from leases.group_status"
                " where group_id = %s and lane = %s and lease_id is not null",
                row["group_id"],
                row["lane"],
            )
        return f"a snapshot {how.__doc__}"
    return None


def _truncate(path: Path, where: float) -> None:
    """truncated"""
    os.truncate(path, int(path.stat().st_size * where))


def _flip(path: Path, where: float) -> None:
    """with a flipped bit"""
    with path.open("r+b") as file:
        at = int(path.stat().st_size * where)
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


def _delete(path: Path, _: float) -> None:
    """deleted"""
    path.unlink()
