"""The load that faults are injected into: servers, workers, a planner and a sweeper, real processes all."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

import pyleases
from pyleases.active import Group
from pyleases.demo.arrivals import Watch, answer_of, plan_and_keep, spans_of
from pyleases.demo.worker import Job
from pyleases.devserver import DevServer, server
from pyleases.migrate import migrate
from pyleases.sweep import sweep
from tests.faults import check, disk
from tests.faults.result import Result
from tests.faults.wire import Wire
from tests.faults.worker import (
    IN_SNAPSHOT,
    Broom,
    Harmed,
    keep_planning,
    keep_sweeping,
    work,
)

HISTORY, TAIL = "history", "tail"
TTL = 3.0
ZONES = ("UTC", "Asia/Kathmandu", "America/New_York")

_DATABASE = "faults"
_SIZE = 20  # articles in a range
_PACE = 0.05  # seconds a range
_BACKLOG = 130  # ranges a second of faults: more than the workers can read in it
_PATIENCE = 90.0  # seconds for draining, without any move
_BY_WIRE = {
    "lose answer": "an answer lost after the commit",
    "cut in answer": "an answer cut in half after the commit",
    "lose request": "a request lost",
    "delay": "an answer delayed",
}
_SETTINGS = {
    "log_line_prefix": "%m [%p] %e ",
    "log_min_error_statement": "panic",
    "max_connections": "70",
    "deadlock_timeout": "200ms",
    "wal_level": "replica",
    "max_wal_senders": "5",
    "wal_retrieve_retry_interval": "200ms",
}


@dataclass(frozen=True)
class Size:
    """How much is going on."""

    seconds: float  # of faults; draining comes on top
    seed: int
    groups: int = 200
    workers: int = 8
    plain: int = 2  # workers that speak plain SQL


class World:
    """Everything that is running. Faults reach into it."""

    def __init__(self, folder: Path, size: Size, primary: DevServer, wire: Wire) -> None:
        self.folder, self.size, self.server, self.wire = folder, size, primary, wire
        self.dice = random.Random(size.seed)
        self.wire_dice = random.Random(-size.seed)
        self.workers: dict[str, list[SpawnProcess]] = {}
        self.frozen: dict[int, float] = {}  # process id: until when
        self.harmed: set[str] = set()  # snapshot files
        self.told: dict[str, Any] = {}  # what faults tell every worker that starts
        self.wrong: list[str] = []
        self.when_moved: list[Callable[[], object]] = []
        self.old_logs: list[str] = []
        self._journals = 0
        self.planner: SpawnProcess | None = None
        self.sweeper: SpawnProcess | None = None
        self.faults: Counter[str] = Counter()  # those that come by themselves
        for place in (self.snapshots, self.lists, self.journals):
            place.mkdir(exist_ok=True)

    @property
    def snapshots(self) -> Path:
        return self.folder / "snapshots"

    @property
    def lists(self) -> Path:
        return self.folder / "lists"

    @property
    def journals(self) -> Path:
        return self.folder / "journals"

    @property
    def no_sweep(self) -> Path:
        """While this file is there the sweeper rests."""
        return self.folder / "no-sweep"

    @property
    def no_more(self) -> Path:
        """Once this file is there the planner stops."""
        return self.folder / "no-more-news"

    @property
    def names(self) -> list[str]:
        """The workers' names, which are their roles too."""
        return [f"indexer_{n}" for n in range(self.size.workers + self.size.plain)]

    @property
    def roles(self) -> list[str]:
        """All roles that processes connect as."""
        return [*self.names, "planner", "sweeper"]

    def dsn(self, role: str) -> str:
        """Return what leads a role through the wire."""
        return make_conninfo(
            host="127.0.0.1",
            port=self.wire.port,
            dbname=_DATABASE,
            user=role,
            sslmode="disable",
            gssencmode="disable",
        )

    @contextlib.contextmanager
    def admin(self, **options: Any) -> Iterator[psycopg.Connection[Any]]:
        """Connect as superuser, past the wire. Waits for no lock for long: who has it may be ours to thaw."""
        brief = {"connect_timeout": 5, "options": "-c lock_timeout=2s"}
        settings = {"autocommit": True, "row_factory": dict_row, **brief, **options}
        with psycopg.connect(self.server.dsn(_DATABASE), **settings) as connection:
            yield connection

    def ask(self, query: str, *params: Any) -> list[dict[str, Any]]:
        """Run a statement as superuser and give its rows."""
        with self.admin() as connection:
            cursor = connection.execute(query, params or None)
            return cursor.fetchall() if cursor.description is not None else []

    # the beginning

    def set_up(self) -> None:
        """Migrate, make a role for each process, and plan the groups."""
        with psycopg.connect(self.server.dsn(), autocommit=True) as connection:
            connection.execute(f"create database {_DATABASE}")
        migrate(self.server.dsn(_DATABASE))
        self.ask(f"update leases.lanes set ttl = make_interval(secs => {TTL})")
        for name in self.roles:
            group = "leases_planner" if name == "planner" else "leases_worker"
            self.ask(f"create role {name} login in role {group}")
        articles = max(2 * _SIZE, int(self.size.seconds * _BACKLOG / self.size.groups * _SIZE))
        groups = [Group(f"alt.test.{n:03}", 1, articles) for n in range(self.size.groups)]
        with pyleases.connect(self.server.dsn(_DATABASE)) as leases:
            plan_and_keep(leases, answer_of(groups), self.lists / "000000.active", _SIZE)

    def start(self) -> None:
        """Start the workers, the planner and the sweeper."""
        for name in self.names:
            self.start_worker(name)
        self._start_planner()
        self._start_sweeper()

    def _start_planner(self) -> None:
        busy = max(1, self.size.groups // 20)
        seed = self.dice.randrange(1 << 30)
        job = Watch(self.dsn("planner"), self.lists, self.no_more, 0.5, busy, _SIZE, seed)
        self.planner = _spawn(keep_planning, job)

    def _start_sweeper(self) -> None:
        self.sweeper = _spawn(
            keep_sweeping, Broom(self.dsn("sweeper"), self.snapshots, self.no_sweep)
        )

    def start_worker(self, name: str) -> None:
        """Start a worker of that name, as its machine would after a crash."""
        number = self.names.index(name)
        lanes = (TAIL, HISTORY) if number % 4 == 1 else (HISTORY, TAIL)
        self._journals += 1
        journal = self.journals / f"{name}-{self._journals}.jsonl"
        job = Job(name, self.dsn(name), self.snapshots, journal, lanes, _PACE, 4)
        in_sql = number >= self.size.workers
        told = Harmed(job, self.size.seed * 1000 + self._journals, in_sql, **self.told)
        self.workers.setdefault(name, []).append(_spawn(work, told))

    # while it runs

    def tend(self) -> None:
        """Start anew who has died, and let go on who was frozen for long enough."""
        for pid, until in list(self.frozen.items()):
            if time.monotonic() > until:
                self.thaw(pid)
        for name, processes in self.workers.items():
            for process in [p for p in processes if p.exitcode == IN_SNAPSHOT]:
                processes.remove(process)
                self.faults["a worker gone in the middle of a snapshot"] += 1
            if not any(p.is_alive() for p in processes):
                self.start_worker(name)
        if not self.sweeper.is_alive():
            self._start_sweeper()
        if not self.planner.is_alive() and not self.no_more.exists():
            self._start_planner()

    def running(self) -> list[tuple[str, int]]:
        """Return the names and process ids of workers that run and are not frozen."""
        return [
            (name, p.pid)
            for name, processes in self.workers.items()
            for p in processes
            if p.pid is not None and p.is_alive() and p.pid not in self.frozen
        ]

    def kill(self, pid: int) -> None:
        """End a process with SIGKILL."""
        os.kill(pid, signal.SIGKILL)

    def freeze(self, pid: int, seconds: float) -> None:
        """Stop a process for so long."""
        os.kill(pid, signal.SIGSTOP)
        self.frozen[pid] = time.monotonic() + seconds

    def thaw(self, pid: int) -> None:
        """Let a frozen process go on."""
        del self.frozen[pid]
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def move_to(self, other: DevServer) -> None:
        """Let another server be the one that the wire leads to."""
        self.server = other
        self.wire.target = socket_of(other)
        for tell in self.when_moved:
            tell()
        self.wire.cut()

    def keep_log(self) -> None:
        """Keep the server's log, which a start begins anew."""
        self.old_logs.append(self.server.log_file.read_text(errors="replace"))

    # the end

    def drain(self) -> None:
        """Let everything be read. Raises if nothing moves any more."""
        self.tend()  # so that a list that was begun is planned
        self.no_more.touch()
        self.planner.join(_PATIENCE)
        if self.planner.is_alive() or list(self.lists.glob("*.next")):
            raise RuntimeError("the planner hangs, or did not plan its last list")
        moved_at, last = time.monotonic(), None
        while not self._is_drained() or self._discard_harmed():
            self.tend()
            now = self.ask("select coalesce(max(seq), 0) as n, count(*) as m from leases.progress")
            if now != last:
                moved_at, last = time.monotonic(), now
            if time.monotonic() > moved_at + _PATIENCE:
                raise RuntimeError(f"nothing moves any more: {self._left()}")
            time.sleep(0.3)
        for process in self._processes():
            process.terminate()
        for process in self._processes():
            process.join(10)

    def _processes(self) -> list[SpawnProcess]:
        workers = [p for processes in self.workers.values() for p in processes]
        return workers + [p for p in (self.planner, self.sweeper) if p]

    def _is_drained(self) -> bool:
        return not self.ask(
            "select 1 from leases.range_status where status <> 'done'"
            " union all select 1 from leases.group_status where lease_id is not null limit 1"
        )

    def _discard_harmed(self) -> bool:
        """Do what an administrator does about snapshots that nobody has come to read; tell whether there were any."""
        rows = self.ask(
            "select leases.discard_snapshot(group_id => g.group_id, lane => g.lane)"
            " from leases.group_status as g join leases.snapshots as s on s.snapshot_id = g.snapshot_id"
            " where s.file = any(%s)",
            list(self.harmed),
        )
        return bool(rows)

    def _left(self) -> list[dict[str, Any]]:
        return self.ask(
            "select group_name, lane, node_name, heard_at, ranges_planned from leases.group_status"
            " where lease_id is not null or ranges_planned > 0 limit 5"
        )

    def end(self) -> None:
        """Leave no process behind."""
        for process in self._processes():
            process.kill()
            process.join()

    def judge(self, result: Result) -> None:
        """Find out what was read, lost and repeated, and what is wrong."""
        with pyleases.connect(self.server.dsn(_DATABASE), snapshots=self.snapshots) as leases:
            sweep(leases, unknown_after=disk.age(-60))
        spans = spans_of(self.lists)
        proof = check.proof_of(self.server.dsn(_DATABASE), self.snapshots, spans)
        journals = sorted(self.journals.glob("*.jsonl"))
        self.keep_log()
        log = "\n".join(self.old_logs)
        with self.admin() as db:
            result.wrong += check.wrong_counts(db)
            result.wrong += check.wrong_files(db, self.snapshots, self.harmed)
        result.wrong += check.two_holders(journals)
        result.wrong += check.bad_log(log)
        result.wrong += proof.faults + self.wrong
        result.states = check.states(log)
        result.faults += self.faults
        result.faults += Counter({_BY_WIRE[fate]: n for fate, n in self.wire.lost.items()})
        result.count(proof, spans, journals)


def _spawn(target: Any, job: object) -> SpawnProcess:
    process = multiprocessing.get_context("spawn").Process(target=target, args=(job,), daemon=True)
    process.start()
    return process


def socket_of(running: DevServer) -> str:
    """Return the path of a server's socket."""
    return str(running.base / f".s.PGSQL.{running.port}")


@contextlib.contextmanager
def world(folder: Path, size: Size, settings: dict[str, str] | None = None) -> Iterator[World]:
    """Give a world on a server of its own, with nothing running in it yet."""
    folder.chmod(0o755)
    with (
        server(settings=_SETTINGS | (settings or {})) as primary,
        Wire(socket_of(primary)) as wire,
    ):
        here = World(folder, size, primary, wire)
        try:
            here.set_up()
            yield here
        finally:
            here.end()
