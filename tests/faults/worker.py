"""The workers under fault: processes that go on whatever happens to them, and keep a journal."""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import random
import signal
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

import pyleases
from pyleases.demo.arrivals import Watch, plan_and_keep, watch
from pyleases.demo.tape import Tape
from pyleases.demo.worker import Job, Journal, call_all_the_same, index
from pyleases.retries import now
from pyleases.sweep import sweep
from tests.faults import disk, plain

IN_SNAPSHOT = 99  # exit status of one that is gone in the middle of a snapshot

_IDLE = 0.05
_LATER = 0.2  # seconds between two tries, when something went wrong
_COUNTS = struct.Struct("qq")  # calls, and those without an answer
_YOUNG = 10.0  # seconds that files unknown to the database are left alone


@dataclass(frozen=True)
class Harmed:
    """What a worker process is told."""

    job: Job
    seed: int
    in_sql: bool = False  # speaks plain SQL through psql
    dies_in_snapshots: float = 0.0  # odds
    bad_disk: float = 0.0


class Calls:
    """Counts calls in a file, which a killed process leaves behind."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(_COUNTS.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _COUNTS.size)

    def count(self, *, failed: bool) -> None:
        made, lost = _COUNTS.unpack(self._memory)
        _COUNTS.pack_into(self._memory, 0, made + 1, lost + failed)

    @staticmethod
    def read(path: Path) -> tuple[int, int]:
        """Return how many calls were made, and how many of them had no answer."""
        data = path.read_bytes()
        return _COUNTS.unpack(data) if len(data) == _COUNTS.size else (0, 0)


class Counted:
    """A session whose calls are counted."""

    def __init__(self, session: Any, calls: Calls) -> None:
        self._session, self._calls = session, calls

    def run(self, query: str, params: Any = ()) -> Any:
        try:
            rows = self._session.run(query, params)
        except psycopg.OperationalError:
            self._calls.count(failed=True)
            raise
        except BaseException:
            self._calls.count(failed=False)
            raise
        self._calls.count(failed=False)
        return rows

    def close(self) -> None:
        self._session.close()


class TimedJournal(Journal):
    """Says with each article when the lease's last answered call was sent: it was the holder's then."""

    lease: Any = None

    def write(self, **event: Any) -> None:
        if event["did"] == "read" and self.lease is not None:
            event |= {"group": self.lease.group_id, "lane": self.lease.lane}
            event["heard"] = self.lease._contact.heard
        super().write(**event)


def work(told: Harmed) -> None:
    """Work until told to stop."""
    stopping = _Stop()
    dice = random.Random(told.seed)
    if told.bad_disk:
        disk.spoil(dice, told.bad_disk)
    calls = Calls(told.job.journal.with_suffix(".calls"))
    journal = TimedJournal(told.job.journal)
    connect = plain.connect if told.in_sql else _connect
    while not stopping.asked:
        with contextlib.suppress(psycopg.Error, plain.SqlError), connect(told.job, calls) as leases:
            node = leases.register_node(told.job.name)
            leases.release_node(node)
            while not stopping.asked:
                _take_and_index(told, leases, node, journal, dice)
        time.sleep(_LATER)


def _connect(job: Job, calls: Calls) -> pyleases.Leases:
    leases = pyleases.connect(job.dsn, snapshots=job.snapshots)
    leases._session = Counted(leases._session, calls)
    return leases


def _take_and_index(
    told: Harmed, leases: Any, node: int, journal: TimedJournal, dice: random.Random
) -> None:
    """Hold one lane from grant to end; whatever goes wrong with it is the end of that window only."""
    for lane in told.job.lanes:
        lease = leases.lease_group(node, lane=lane)
        if lease is not None:
            break
    else:
        time.sleep(_IDLE)
        return
    answered = now()
    where = {"lease": lease.lease_id, "group": lease.group_id, "lane": lease.lane}
    journal.write(did="lease", at=answered, **where)
    journal.lease = lease
    try:
        with lease:
            index(told.job, lease, journal, _dump(told, dice))
    except pyleases.LeaseLost:
        journal.write(did="lost", **where)
        if not lease._contact.given_up:  # else it may be its own still
            _go_on_as_zombie(told, lease, journal)
    except (psycopg.Error, plain.SqlError, OSError) as error:
        journal.write(did="error", error=f"{type(error).__name__}: {error}"[:200], **where)
        time.sleep(_LATER)


def _dump(told: Harmed, dice: random.Random) -> Callable[[Tape], Any]:
    """Give what makes a snapshot's body; the process may be gone in the middle of it."""

    def dump(tape: Tape) -> Any:
        body = tape.dump()
        yield body[: len(body) // 2]
        if dice.random() < told.dies_in_snapshots:
            os._exit(IN_SNAPSHOT)
        yield body[len(body) // 2 :]

    return dump if told.dies_in_snapshots else lambda tape: [tape.dump()]


def _go_on_as_zombie(told: Harmed, lease: Any, journal: Journal) -> None:
    """Make every call that is left, and write a file, as one who has not understood."""
    name = f"{lease.group_id}-{lease.lane}-{lease.snapshot_id or 1}-{os.urandom(8).hex()}.gz"
    with contextlib.suppress(OSError):
        (told.job.snapshots / name).write_bytes(b"of a zombie")
    with (
        contextlib.suppress(psycopg.Error),
        psycopg.connect(told.job.dsn, autocommit=True, prepare_threshold=None) as connection,
    ):
        refused, accepted = call_all_the_same(connection, lease.lease_id)
        journal.write(did="zombie", refused=refused, accepted=accepted)


def keep_planning(job: Watch) -> None:
    """Plan lists with more and more articles; each until it is planned, whatever happens."""
    while not _is_orphan():
        with contextlib.suppress(psycopg.Error), pyleases.connect(job.dsn) as leases:
            for next_list in job.lists.glob("*.next"):  # of a planner that was killed
                _plan(leases, next_list.read_bytes(), next_list.with_suffix(".active"), job.size)
            if job.stop.exists():
                return
            watch(job, _plan)
        time.sleep(_LATER)


def _plan(leases: pyleases.Leases, answer: bytes, file: Path, size: int) -> None:
    """Plan the list until it is planned. It is a file before, so that who comes after can go on."""
    next_list, part = file.with_suffix(".next"), file.with_suffix(".part")
    part.write_bytes(answer)
    part.rename(next_list)
    while True:
        try:
            plan_and_keep(leases, answer, part, size)
        except psycopg.Error:
            if _is_orphan():
                return
            time.sleep(_LATER)
        else:
            part.unlink()
            next_list.rename(file)
            return


@dataclass(frozen=True)
class Broom:
    """What the sweeper process is told."""

    dsn: str
    snapshots: Path
    pause: Path  # it rests while this file is there


def keep_sweeping(broom: Broom) -> None:
    """Sweep all the time, until told to stop."""
    stopping = _Stop()
    while not stopping.asked:
        with (
            contextlib.suppress(psycopg.Error, OSError),
            pyleases.connect(broom.dsn, snapshots=broom.snapshots) as leases,
        ):
            while not stopping.asked:
                if not broom.pause.exists():
                    sweep(leases, unknown_after=disk.age(_YOUNG))
                time.sleep(0.1)
        time.sleep(_LATER)


class _Stop:
    """Set by SIGTERM, and when the process that started this one is gone."""

    def __init__(self) -> None:
        self._asked = False
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._ask)

    @property
    def asked(self) -> bool:
        return self._asked or _is_orphan()

    def _ask(self, *_: object) -> None:
        self._asked = True


def _is_orphan() -> bool:
    parent = multiprocessing.parent_process()
    return parent is not None and not parent.is_alive()
