"""Transactions that stay open: a frozen worker's, an administrator's, a planner's."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.rows import dict_row

import pyleases
from pyleases.active import Group
from pyleases.demo.arrivals import answer_of, plan_and_keep
from tests.faults.kinds.base import Kind
from tests.faults.plain import program
from tests.faults.world import TTL, World

_BLOCKED = """
select a.usename, a.query from pg_stat_activity as a
where a.usename like 'indexer%%' and %s = any(pg_blocking_pids(a.pid))
"""


class Locks(Kind):
    """A worker frozen in an open transaction; an administrator's on the settings; a planner's to the end."""

    name = "locks"

    def __init__(self) -> None:
        self._open: list[tuple[float, Callable[[], object]]] = []  # until when, and how it ends
        self._thawed: list[subprocess.Popen[str]] = []  # may wait for one another yet

    def prepare(self, here: World) -> None:
        """Begin the planner's hour: groups of its own, planned but not committed."""
        self._planner: psycopg.Connection[Any] = psycopg.connect(here.server.dsn("faults"))
        groups = [Group(f"alt.slow.{n:02}", 1, 60) for n in range(20)]
        plan_and_keep(pyleases.connect(self._planner), answer_of(groups), here.folder / "slow", 20)

    def strike(self, here: World) -> str | None:
        self._end_due(time.monotonic())
        try:
            self._planner.execute("select 1")
        except psycopg.OperationalError:  # another fault ended it
            self.prepare(here)
            return None
        here.wrong += [
            f"{row['usename']} waits for a planner: {row['query']}"
            for row in here.ask(_BLOCKED, self._planner.info.backend_pid)
        ]
        if len(self._open) > 3:
            return None
        return here.dice.choice([self._freeze, self._administer])(here)

    def heal(self, here: World) -> None:
        self._end_due(float("inf"))
        try:
            self._planner.commit()
        except psycopg.OperationalError:
            (here.folder / "slow").unlink()
        else:
            (here.folder / "slow").rename(here.lists / "900000.active")
        self._planner.close()
        for process in self._thawed:
            process.wait(30)

    def _end_due(self, now: float) -> None:
        for due in [entry for entry in self._open if entry[0] <= now]:
            self._open.remove(due)
            due[1]()

    def _freeze(self, here: World) -> str | None:
        """Let a process call under a worker's lease, in a transaction, and freeze it in there."""
        held = here.ask(
            "select lease_id, node_name from leases.group_status"
            " where lease_id is not null order by random() limit 1"
        )
        if not held:
            return None
        role, lease = held[0]["node_name"], held[0]["lease_id"]
        process = subprocess.Popen(
            [program(), "-XAtq", here.dsn(role)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdin
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(f"begin;\nselect leases.heartbeat(lease_id => {lease});\n")
            process.stdin.flush()
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGSTOP)
        end = "commit;\n" if here.dice.random() < 0.5 else None

        def thaw() -> None:
            os.kill(process.pid, signal.SIGCONT)
            if end is None:
                process.kill()
            with contextlib.suppress(OSError):  # it need not be there any more
                process.stdin.write(end or "")
                process.stdin.close()
            self._thawed.append(process)

        self._open.append((time.monotonic() + TTL * here.dice.uniform(0.5, 1.5), thaw))
        return "a worker frozen inside a transaction"

    def _administer(self, here: World) -> str | None:
        """Change the settings, and think about it."""
        if any(end.__name__ == "decide" for _, end in self._open):
            return None
        connection = psycopg.connect(here.server.dsn("faults"), row_factory=dict_row)
        connection.execute(
            "update leases.lanes set max_attempts = coalesce(max_attempts, 1000) + 1"
        )
        commit = here.dice.random() < 0.5

        def decide() -> None:
            with contextlib.suppress(psycopg.OperationalError):
                connection.commit() if commit else connection.rollback()
            connection.close()

        self._open.append((time.monotonic() + here.dice.uniform(1, 2 * TTL), decide))
        return "a long transaction on the settings"
