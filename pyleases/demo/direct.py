"""Runs the demo: starts the processes, does harm to two of them, and has the result proved."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

import pyleases
from pyleases.active import ActiveList, read_active
from pyleases.demo.arrivals import HISTORY, TAIL, Watch, plan_and_keep, spans_of, watch
from pyleases.demo.proof import Proof, current_snapshots, prove
from pyleases.demo.worker import Job, history_of, run, unsaved_ranges
from pyleases.devserver import server
from pyleases.migrate import migrate
from pyleases.sweep import sweep

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

__all__ = ["DemoError", "Harm", "Outcome", "Settings", "WorkerReport", "run_demo"]

_PATIENCE = 120.0  # seconds without any progress
_PICKY = 10.0  # seconds to look for the best worker to harm, before any will do
_LOOK = 0.25  # seconds between two looks at how far things are
_SMALL = 200_000  # articles: below, ranges are cut small and reading takes a while
_SMALL_RANGES = 150
_SMALL_SECONDS = 12.0
_SLOWEST = 0.4  # seconds a range

Tell = Callable[[str, int, int], object]  # what goes on, articles done, articles planned


class DemoError(RuntimeError):
    """The demo could not be carried through."""


@dataclass(frozen=True)
class Settings:
    """What the demo is run with."""

    active: Path
    folder: Path
    dsn: str | None = None
    workers: int = 4
    size: int | None = None
    ttl: float = 3.0
    seed: int = 1


@dataclass(frozen=True)
class Harm:
    """What was done to a worker that held a lane, and who has taken the lane from it."""

    worker: str
    what: str
    group: str
    lane: str
    lease_id: int
    taken_by: str
    taken_with: int


@dataclass
class WorkerReport:
    """What a worker has done, by its own journal."""

    name: str
    fate: str
    leases: dict[str, int]
    ranges: int
    read: int
    snapshots: int
    refused: int
    accepted: int


@dataclass
class Outcome:
    """How it went."""

    proof: Proof
    workers: list[WorkerReport]
    harms: list[Harm]
    swept: int
    seconds: float
    snapshots: Path


@dataclass
class _Stage:
    """The database, the folders, and the processes at work."""

    settings: Settings
    dsn: str
    pace: float
    size: int
    processes: dict[str, SpawnProcess] = field(default_factory=dict)
    fates: dict[str, str] = field(default_factory=dict)
    planner: SpawnProcess | None = None

    @property
    def snapshots(self) -> Path:
        return self.settings.folder / "snapshots"

    @property
    def lists(self) -> Path:
        return self.settings.folder / "lists"

    @property
    def stop_file(self) -> Path:
        return self.settings.folder / "no-more-news"

    def journal(self, worker: str) -> Path:
        return self.settings.folder / f"{worker}.jsonl"

    def start_worker(self, lane: str) -> None:
        """Start a worker that looks at this lane first, and at the other where it finds nothing."""
        name = f"indexer-{len(self.processes) + 1}"
        lanes = (TAIL, HISTORY) if lane == TAIL else (HISTORY, TAIL)
        chunks = 4 if self.pace else 2
        job = Job(name, self.dsn, self.snapshots, self.journal(name), lanes, self.pace, chunks)
        self.processes[name] = _start(run, job)
        self.fates[name] = ""

    def start_planner(self) -> None:
        every, busy = (0.5, 2) if self.pace else (2.0, 60)
        seed = self.settings.seed
        job = Watch(self.dsn, self.lists, self.stop_file, every, busy, self.size, seed)
        self.planner = _start(watch, job)

    def check(self) -> None:
        """Raise if a process has ended that nobody has ended."""
        for name, process in [*self.processes.items(), ("planner", self.planner)]:
            expected = (0, None, -signal.SIGKILL) if self.fates.get(name) else (0, None)
            if process is not None and process.exitcode not in expected:
                raise DemoError(f"{name} ended by itself, with exit status {process.exitcode}")

    def end(self) -> None:
        """Leave no process behind, whatever happened."""
        for process in [*self.processes.values(), *([self.planner] if self.planner else [])]:
            process.kill()
            process.join()


def run_demo(settings: Settings, tell: Tell = lambda *_: None) -> Outcome:
    """Run the demo in the folder given, which is empty. Raises `DemoError` if it gets stuck."""
    began = time.monotonic()
    with settings.active.open("rb") as lines:
        active = read_active(lines)
    articles = sum(g.articles for g in active.groups)
    if not active.groups:
        raise DemoError(f"{settings.active} lists no group")
    with _database(settings.dsn, tell) as dsn:
        stage = _stage(settings, dsn, active)
        tell("migrating", 0, articles)
        migrate(dsn)
        with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
            connection.execute(
                "update leases.lanes set ttl = make_interval(secs => %s)", [settings.ttl]
            )
            tell("planning", 0, articles)
            with pyleases.connect(dsn) as leases:
                first = stage.lists / "000000.active"
                plan_and_keep(leases, settings.active.read_bytes(), first, stage.size)
            try:
                harms = _play(stage, connection, tell)
            finally:
                stage.end()
        with pyleases.connect(dsn, snapshots=stage.snapshots) as leases:
            swept = sweep(leases)
        tell("reading the snapshots", 0, 1)
        proof = prove(stage.snapshots, current_snapshots(dsn), spans_of(stage.lists))
        workers = [_report(stage, name, proof) for name in stage.processes]
        return Outcome(
            proof, workers, harms, len(swept.deleted), time.monotonic() - began, stage.snapshots
        )


def _stage(settings: Settings, dsn: str, active: ActiveList) -> _Stage:
    articles = sum(g.articles for g in active.groups)
    size = settings.size or (
        10_000 if articles > _SMALL else max(10, min(10_000, articles // _SMALL_RANGES))
    )
    ranges = sum(-(-g.articles // size) for g in active.groups)
    pace = _SMALL_SECONDS * settings.workers / max(1, ranges)
    stage = _Stage(settings, dsn, min(_SLOWEST, pace) if articles <= _SMALL else 0.0, size)
    stage.snapshots.mkdir()
    stage.lists.mkdir()
    return stage


@contextlib.contextmanager
def _database(dsn: str | None, tell: Tell) -> Iterator[str]:
    """Give a fresh database: on a server of our own, or beside the one that the DSN names."""
    if not dsn:
        tell("starting a PostgreSQL", 0, 1)
        with server() as own:
            yield own.dsn()
        return
    name = f"pyleases_demo_{secrets.token_hex(4)}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    try:
        yield make_conninfo(dsn, dbname=name)
    finally:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            )


def _play(stage: _Stage, connection: psycopg.Connection[Any], tell: Tell) -> list[Harm]:
    """Let it run to the end; kill one worker after a quarter of the way and freeze one half-way."""
    for number in range(stage.settings.workers):
        stage.start_worker(TAIL if number % 4 == 1 else HISTORY)
    stage.start_planner()
    watcher = _Watcher(stage, connection, tell)
    watcher.until(lambda done, planned: done * 4 >= planned, "reading")
    killed = _kill_one(stage, watcher)
    watcher.until(lambda done, planned: done * 2 >= planned, "reading, one worker killed")
    harms = [killed(), _freeze_one(stage, watcher)]
    stage.stop_file.touch()
    if stage.planner:
        stage.planner.join()
    watcher.until(lambda *_: watcher.all_done(), "reading the rest")
    for name, process in stage.processes.items():
        if stage.fates[name] != "killed":
            process.terminate()
            process.join(_PATIENCE)
    stage.check()
    return harms


@dataclass
class _Watcher:
    """Looks at how far the work is, from time to time."""

    stage: _Stage
    connection: psycopg.Connection[Any]
    tell: Tell

    def until(self, enough: Callable[[int, int], bool], doing: str) -> None:
        """Wait until enough is done. Raises `DemoError` if nothing moves any more."""
        moved_at, last = time.monotonic(), (-1, -1)
        while True:
            self.stage.check()
            now = self.progress()
            self.tell(doing, *now)
            if enough(*now):
                return
            if now != last:
                moved_at, last = time.monotonic(), now
            if time.monotonic() - moved_at > _PATIENCE:
                raise DemoError(
                    f"nothing has moved for {_PATIENCE:g} seconds: {now[0]} of {now[1]} read"
                )
            time.sleep(_LOOK)

    def progress(self) -> tuple[int, int]:
        """Return how many articles are read, about, and how many are planned.

        What a holder has read since it leased may not be counted yet.
        """
        row = self.connection.execute(
            "select coalesce(sum(end_id - start_id + 1), 0)::bigint as planned,"
            " coalesce(sum(end_id - start_id + 1) filter (where status = 'done'), 0)::bigint as done"
            " from leases.ranges"
        ).fetchone()
        return (row["done"], row["planned"]) if row else (0, 0)

    def all_done(self) -> bool:
        """Whether every range is done and every lane given back."""
        done, planned = self.progress()
        if done < planned:
            return False
        row = self.connection.execute(
            "select not exists (select from leases.range_status where status <> 'done')"
            " and not exists (select from leases.group_status where lease_id is not null)"
            " as all_done"
        ).fetchone()
        return bool(row and row["all_done"])

    def held_by(self, worker: str) -> list[dict[str, Any]]:
        """Return the lanes that the worker holds with a range in hand."""
        return self.connection.execute(
            "select group_id, group_name, lane, lease_id from leases.group_status"
            " where node_name = %s and range_id is not null",
            [worker],
        ).fetchall()

    def is_taken(self, held: dict[str, Any]) -> bool:
        """Whether the lease is no longer the lane's."""
        return not self.connection.execute(
            "select from leases.group_status where group_id = %s and lane = %s and lease_id = %s",
            [held["group_id"], held["lane"], held["lease_id"]],
        ).fetchall()


def _catch(stage: _Stage, watcher: _Watcher) -> tuple[str, dict[str, Any]]:
    """Stop a worker in the middle of a range that it holds; it is stopped when this returns.

    At first it has to be one that has finished a range since its snapshot, for that is lost with it.
    """
    began = time.monotonic()
    while time.monotonic() < began + _PATIENCE:
        picky = time.monotonic() < began + _PICKY
        for name in [n for n, fate in stage.fates.items() if not fate]:
            os.kill(_pid(stage.processes[name]), signal.SIGSTOP)
            time.sleep(0.05)  # a call that is under way ends at the server
            held = watcher.held_by(name)
            if held and (unsaved_ranges(stage.journal(name)) or not picky):
                return name, held[0]
            os.kill(_pid(stage.processes[name]), signal.SIGCONT)
            time.sleep(0.02)
        stage.check()
    raise DemoError("no worker could be caught in the middle of a range")


def _kill_one(stage: _Stage, watcher: _Watcher) -> Callable[[], Harm]:
    """Kill a worker and start another. Returns what waits for its lane to be taken."""
    name, held = _catch(stage, watcher)
    stage.fates[name] = "killed"
    stage.processes[name].kill()
    stage.processes[name].join()
    stage.start_worker(held["lane"])

    def harm() -> Harm:
        watcher.until(lambda *_: watcher.is_taken(held), f"waiting for the lane of {name}")
        return _harm(stage, name, "killed (SIGKILL)", held)

    return harm


def _freeze_one(stage: _Stage, watcher: _Watcher) -> Harm:
    """Freeze a worker until its lane is taken, then let it go on as if nothing had happened."""
    name, held = _catch(stage, watcher)
    stage.fates[name] = "frozen"
    watcher.until(lambda *_: watcher.is_taken(held), f"{name} frozen")
    os.kill(_pid(stage.processes[name]), signal.SIGCONT)
    watcher.until(
        lambda *_: any(e["did"] == "lost" for e in history_of(stage.journal(name))),
        f"waiting for {name} to notice",
    )
    return _harm(stage, name, "frozen (SIGSTOP) past its ttl", held)


def _harm(stage: _Stage, worker: str, what: str, held: dict[str, Any]) -> Harm:
    """Find out who has the lane now: the first grant of it after the lost one."""
    lane = (held["group_id"], held["lane"])
    takers = [
        (event["lease"], name)
        for name in stage.processes
        for event in history_of(stage.journal(name))
        if event["did"] == "lease"
        and (event["group"], event["lane"]) == lane
        and event["lease"] > held["lease_id"]
    ]
    lease, taker = min(takers, default=(0, "nobody"))
    return Harm(worker, what, held["group_name"], held["lane"], held["lease_id"], taker, lease)


def _report(stage: _Stage, name: str, proof: Proof) -> WorkerReport:
    events = history_of(stage.journal(name))
    lost = [e for e in events if e["did"] == "lost"]
    report = WorkerReport(
        name=name,
        fate=stage.fates[name],
        leases={
            lane: sum(e["did"] == "lease" and e["lane"] == lane for e in events)
            for lane in (TAIL, HISTORY)
        },
        ranges=sum(e["did"] == "range" for e in events),
        read=sum(e["articles"] for e in events if e["did"] == "read"),
        snapshots=sum(e["did"] == "snapshot" for e in events),
        refused=sum(e["refused"] for e in lost),
        accepted=sum(e["accepted"] for e in lost),
    )
    if report.accepted:
        proof.faults.append(
            f"{name} made {report.accepted} calls with a lost lease that went through"
        )
    return report


def _start(target: Callable[[Any], None], job: object) -> SpawnProcess:
    process = multiprocessing.get_context("spawn").Process(target=target, args=(job,), daemon=True)
    process.start()
    return process


def _pid(process: SpawnProcess) -> int:
    if process.pid is None:
        raise DemoError("a process has not started")
    return process.pid
