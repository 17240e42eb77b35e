"""Streaming a snapshot out and in, against a plain file of the same size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyleases
from bench.results import Figure, Result
from bench.rounds import Spread, ratios
from bench.world import ROOT, Database, World, disk_folder

FIGURES = [
    Figure(
        "put_snapshot",
        "`put_snapshot`, bytes a second, against write + fsync + rename",
        at_least=0.9,
    ),
    Figure(
        "open_snapshot",
        "`open_snapshot` read to its end, bytes a second, against a read without a digest: from the disk",
        at_least=0.9,
    ),
    Figure("open_snapshot_cached", "the same from the page cache", at_least=0.9),
    Figure(
        "put_snapshot_memory",
        "peak memory of the whole process that puts it",
        unit="MiB",
        at_most=64,
    ),
    Figure(
        "open_snapshot_memory",
        "peak memory of the whole process that reads it",
        unit="MiB",
        at_most=64,
    ),
]
_MIB = 1 << 20
# In this order: what is read was written before. The readers take turns, and so do the writers.
_WRITERS = ("put", "write")
_READERS = ("open", "read")

_Times = dict[str, list[dict[str, Any]]]


def run(world: World) -> Iterator[Result]:
    size = world.scale.snapshot_bytes
    database = world.fresh("snapshots")
    group_id = database.value("select leases.add_group(name => 'log')")
    database.run("select leases.plan_ranges(%s, 0, 99, 50, size => 1)", group_id)
    with tempfile.TemporaryDirectory(prefix="pyleases-bench-", dir=disk_folder()) as folder:
        times = _measure(world, database, Path(folder), size)
    world.drop(database)
    yield from _results(times, size, world.scale.slow_rounds)


def _measure(world: World, database: Database, folder: Path, size: int) -> _Times:
    times: _Times = {}
    for number in range(world.scale.slow_rounds):
        for task in _turned(_WRITERS, number):
            times.setdefault(task, []).append(_work(task, database, folder, size))
        for task in _turned(_READERS, number):
            _evict(folder)
            times.setdefault(task, []).append(_work(task, database, folder, size))
        for task in _turned(_READERS, number):
            _work(task, database, folder, size)
            times.setdefault(f"{task} cached", []).append(_work(task, database, folder, size))
        _sweep(database, folder)
    return times


def _turned(tasks: tuple[str, ...], number: int) -> tuple[str, ...]:
    return tasks if number % 2 else tasks[::-1]


def _work(task: str, database: Database, folder: Path, size: int) -> dict[str, Any]:
    os.sync()  # what others wrote is not this one's to wait for
    done = subprocess.run(
        [sys.executable, "-m", "bench.snapshot_worker", task, database.dsn, folder, str(size)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if done.returncode:
        raise RuntimeError(f"{task}: {done.stderr}")
    return dict(json.loads(done.stdout))


def _evict(folder: Path) -> None:
    """Let the kernel forget the files' pages, so that they come from the disk."""
    for path in folder.iterdir():
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def _sweep(database: Database, folder: Path) -> None:
    """Delete what no lane needs any more, so that the disk does not fill."""
    with pyleases.connect(database.dsn) as leases:
        stale = leases.stale_snapshots()
        for snapshot in stale:
            (folder / snapshot.file).unlink(missing_ok=True)
        leases.forget_snapshots([s.snapshot_id for s in stale])


def _results(times: _Times, size: int, rounds: int) -> Iterator[Result]:
    seconds = {task: [t["seconds"] for t in each] for task, each in times.items()}
    at, whole = f"{size // _MIB:,} MiB", size >= 4096 * _MIB
    rows = [
        {
            "contender": task,
            "mib_s": size / _MIB / Spread.of(taken).value,
            "seconds": Spread.of(taken).value,
            "peak_mib": max(t["peak"] for t in times[task]) / _MIB,
            "samples": len(taken),
        }
        for task, taken in seconds.items()
    ]
    for figure, ours, theirs in (
        (FIGURES[0], "put", "write"),
        (FIGURES[1], "open", "read"),
        (FIGURES[2], "open cached", "read cached"),
    ):
        spread = ratios(seconds[theirs], seconds[ours])
        yield Result(figure, spread, rounds, at, whole, rows=rows if ours == "put" else [])
    for figure, task in ((FIGURES[3], "put"), (FIGURES[4], "open")):
        before = max(t["before"] for t in times[task]) / _MIB
        yield Result(
            figure,
            Spread.of([t["peak"] / _MIB for t in times[task]]),
            rounds,
            at,
            whole,
            notes=[f"Of it {before:.0f} MiB are Python and its modules before the first byte."],
        )
