"""Servers that die and whose standby takes over, and a dump that is restored while workers live."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import psycopg

import pyleases
from pyleases.demo.arrivals import plan_and_keep
from pyleases.devserver import find_binaries
from tests.faults.kinds.base import Kind
from tests.faults.standby import fall_behind, kill_machine, promote, standby
from tests.faults.world import World

_LOST = 1.0  # seconds of commits that an asynchronous standby did not get


class Failover(Kind):
    """The primary's machine dies, its synchronous standby is promoted, workers connect to that."""

    name = "failover"
    pause = (2.0, 4.0)
    synchronous = True

    def __init__(self) -> None:
        self._servers = contextlib.ExitStack()
        self._next: Any = None

    def lacks(self) -> str | None:
        there = (find_binaries() / "pg_basebackup").exists()
        return None if there else "pg_basebackup is not installed"

    def __enter__(self) -> Kind:
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.close()

    def prepare(self, here: World) -> None:
        self._make(here)

    def strike(self, here: World) -> str | None:
        if self._next is None:
            self._make(here)
            return None
        self._fail_over(here)
        self._next = None
        return "the primary killed, its synchronous standby promoted"

    def _make(self, here: World) -> None:
        self._next = self._servers.enter_context(standby(here.server, synchronous=self.synchronous))

    def _fail_over(self, here: World) -> None:
        # A cancel, a timeout or a crash may have let a commit go by its wait for the standby: that is PostgreSQL's
        # to lose, not ours. A commit that has waited brings all before it over.
        here.ask("create table if not exists public.fault_marks (n int)")
        here.ask("insert into public.fault_marks values (1)")
        kill_machine(here.server)
        here.keep_log()
        promote(self._next)
        here.move_to(self._next)

    def heal(self, here: World) -> None:
        if self._next is not None and self.synchronous:  # who waits for it would wait for ever
            here.ask("alter system reset synchronous_standby_names")
            here.ask("select pg_reload_conf()")


class LossyFailover(Failover):
    """The same with an asynchronous standby that is a second behind, and after_restore."""

    name = "failover that loses a second"
    synchronous = False

    def strike(self, here: World) -> str | None:
        if self._next is None:
            self._make(here)
            here.no_sweep.unlink(missing_ok=True)
            return None
        rest_the_sweeper(here)
        fall_behind(self._next)
        time.sleep(_LOST)
        here.wire.down()  # O1: until after_restore has run, no worker may call
        kill_machine(here.server)
        here.keep_log()
        promote(self._next)
        here.move_to(self._next)
        here.ask("select leases.after_restore()")
        plan_last_list_again(here)
        here.wire.up()
        self._next = None
        return "the primary killed, an asynchronous standby promoted that was a second behind"

    def heal(self, here: World) -> None:
        here.no_sweep.unlink(missing_ok=True)


class Restore(Kind):
    """A dump, restored in place of the database some seconds later, while workers live; after_restore."""

    name = "restore"
    pause = (1.5, 3.0)
    _dump: Path | None = None

    def lacks(self) -> str | None:
        there = (find_binaries() / "pg_dump").exists()
        return None if there else "pg_dump is not installed"

    def strike(self, here: World) -> str | None:
        if self._dump is None:
            rest_the_sweeper(here)
            self._dump = here.server.base / "dump"
            here.server.run("pg_dump", "-Fc", "-f", self._dump, "-d", here.server.dsn("faults"))
            return None
        here.wire.down()  # O1
        with psycopg.connect(here.server.dsn(), autocommit=True) as connection:
            connection.execute("drop database faults with (force)")
            connection.execute("create database faults template template0")
        here.server.run("pg_restore", "-d", here.server.dsn("faults"), self._dump)
        self._dump.unlink()
        here.ask("select leases.after_restore()")
        plan_last_list_again(here)
        here.wire.up()
        here.no_sweep.unlink()
        self._dump = None
        return "a dump restored while workers live"

    def heal(self, here: World) -> None:
        here.no_sweep.unlink(missing_ok=True)


def rest_the_sweeper(here: World) -> None:
    """Keep the files that the time to be lost has superseded, and wait for a sweep under way."""
    here.no_sweep.touch()
    time.sleep(0.5)


def plan_last_list_again(here: World) -> None:
    """Plan what the lost time had planned: planning is declarative, so the source's last list is enough."""
    last = max(here.lists.glob("*.active"))
    with pyleases.connect(here.server.dsn("faults")) as leases:
        plan_and_keep(leases, last.read_bytes(), last, 20)
