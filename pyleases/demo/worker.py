"""A worker of the demo: a process that leases, reads onto its tape, and snapshots it."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg

import pyleases
from pyleases.demo.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["Job", "Journal", "call_all_the_same", "history_of", "index", "run"]

_IDLE = 0.05  # seconds between two looks for a lease, when there was nothing
_RANGES_A_SNAPSHOT = 3
_SAVED = ("lease", "snapshot", "lost")  # after these a worker has nothing to lose


@dataclass(frozen=True)
class Job:
    """What a worker process is told."""

    name: str
    dsn: str
    snapshots: Path
    journal: Path
    lanes: tuple[str, ...]  # the one it looks at first stands first
    pace: float  # seconds that reading a range takes
    chunks: int  # how many pieces a range is read in


class Journal:
    """What the worker did, a line an event: for the table, not for the proof."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1, encoding="utf-8")

    def write(self, **event: Any) -> None:
        """Append an event."""
        self._file.write(json.dumps(event) + "\n")


class _Stop:
    """Set by SIGTERM; looked at between two leases."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # Ctrl-C is for the demo, which ends its workers
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


def run(job: Job) -> None:
    """Work until told to stop."""
    stop = _Stop()
    journal = Journal(job.journal)
    with (
        pyleases.connect(job.dsn, snapshots=job.snapshots) as leases,
        psycopg.connect(job.dsn, autocommit=True) as connection,
    ):
        node = leases.register_node(job.name)
        leases.release_node(node)
        while not stop.asked:
            lease = _any_lease(leases, node, job.lanes)
            if lease is None:
                time.sleep(_IDLE)
                continue
            journal.write(did="lease", lease=lease.lease_id, group=lease.group_id, lane=lease.lane)
            try:
                with lease:
                    index(job, lease, journal)
            except pyleases.LeaseLost:
                refused, accepted = call_all_the_same(connection, lease.lease_id)
                journal.write(did="lost", lease=lease.lease_id, refused=refused, accepted=accepted)


def _any_lease(leases: pyleases.Leases, node: int, lanes: tuple[str, ...]) -> Any:
    for lane in lanes:
        if lease := leases.lease_group(node, lane=lane):
            return lease
    return None


def index(
    job: Job,
    lease: pyleases.Lease,
    journal: Journal,
    dump: Callable[[Tape], Iterable[bytes]] = lambda tape: [tape.dump()],
) -> None:
    """Read a lane on from where its tape stands, until it is caught up."""
    tape = _window(lease, journal)
    fresh = not tape.runs
    at, since = None, 0

    def save(next_id: int) -> None:
        lease.put_snapshot(next_id, dump(tape))
        journal.write(did="snapshot")

    for r in lease.ranges():
        if fresh:
            # The empty window, before any resume point is told: from here on none is lost.
            save(r.next_id)
            fresh = False
        for first, last in _chunks(r.next_id, r.end_id, job.chunks):
            time.sleep(job.pace / job.chunks)
            tape.read(first, last, job.name)
            journal.write(
                did="read", lease=lease.lease_id, first=first, last=last, articles=last - first + 1
            )
            if last < r.end_id:
                r.progress(last + 1)
        journal.write(did="range")
        at, since = r.end_id + 1, since + 1
        if since == _RANGES_A_SNAPSHOT:
            save(at)
            since = 0
    if at is not None and since:
        save(at)


def _window(lease: pyleases.Lease, journal: Journal) -> Tape:
    """Load the lane's window; a snapshot that can't be read is rejected, for the one kept before it."""
    while True:
        try:
            with lease.open_snapshot() as body:
                return Tape(lease.group_name, lease.lane) if body is None else Tape.load(body)
        except pyleases.SnapshotUnusable as error:
            journal.write(did="rejected", snapshot=error.snapshot.snapshot_id)
            lease.reject_snapshot(error.snapshot)


def _chunks(first: int, last: int, count: int) -> list[tuple[int, int]]:
    size = max(1, -(-(last - first + 1) // count))
    return [(start, min(start + size - 1, last)) for start in range(first, last + 1, size)]


def call_all_the_same(connection: psycopg.Connection, lease_id: int) -> tuple[int, int]:
    """Make every call that a worker could still make, as one that has not understood would."""
    refused = accepted = 0
    for call in (
        "next_range(lease_id => %(lease_id)s)",
        "heartbeat(lease_id => %(lease_id)s)",
        "finish_range(lease_id => %(lease_id)s, range_id => 1)",
        "finish_and_next(lease_id => %(lease_id)s, range_id => 1)",
        "fail_range(lease_id => %(lease_id)s, range_id => 1, reason => 'a zombie')",
        "begin_snapshot(lease_id => %(lease_id)s, next_id => 1)",
        "commit_snapshot(lease_id => %(lease_id)s, snapshot_id => 1, bytes => 1,"
        " checksum => 'sha256:00')",
        "release_group(lease_id => %(lease_id)s)",
    ):
        try:
            connection.execute(f"select * from leases.{call}".encode(), {"lease_id": lease_id})  # noqa: S608
            accepted += 1
        except pyleases.LeaseLost:
            refused += 1
    return refused, accepted


def unsaved_ranges(journal: Path) -> int:
    """Count the ranges that the worker has read since it last leased or took a snapshot."""
    ranges = 0
    for event in history_of(journal):
        ranges = ranges + (event["did"] == "range") if event["did"] not in _SAVED else 0
    return ranges


def history_of(journal: Path) -> list[dict[str, Any]]:
    """Read a journal; the last line of a killed worker's may be cut off."""
    events = []
    with contextlib.suppress(FileNotFoundError):
        for line in journal.read_text("utf-8").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                events.append(json.loads(line))
    return events
