"""A streaming standby of a server of our own."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pyleases.devserver import DevServer

_PATIENCE = 30.0


@contextlib.contextmanager
def standby(primary: DevServer, *, synchronous: bool) -> Iterator[DevServer]:
    """Give a standby that has caught up; synchronous: no commit of the primary is answered without it."""
    base = Path(tempfile.mkdtemp(prefix="pyleases-pg-", dir=primary.base.parent))
    owner = primary.base.stat()
    os.chown(base, owner.st_uid, owner.st_gid)
    running = DevServer(primary.bin_dir, base, primary.settings, _account=primary._account)
    try:
        running._watch()
        running.run(
            *("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "--no-sync"),
            *("-D", running.data_dir, "-d", primary.dsn()),
        )
        with (running.data_dir / "postgresql.auto.conf").open("a") as settings:
            settings.write("synchronous_standby_names = ''\n")
        running.start()
        _wait(primary, "select 1 from pg_stat_replication where state = 'streaming'")
        if synchronous:
            run(primary, "alter system set synchronous_standby_names = '*'")
            run(primary, "select pg_reload_conf()")
            _wait(primary, "select 1 from pg_stat_replication where sync_state = 'sync'")
        yield running
    finally:
        running._clean_up()


def run(on: DevServer, query: str) -> list[dict[str, Any]]:
    """Run a statement as superuser."""
    with psycopg.connect(on.dsn(), autocommit=True, row_factory=dict_row) as connection:
        cursor = connection.execute(query)
        return cursor.fetchall() if cursor.description else []


def fall_behind(follower: DevServer) -> None:
    """Let a standby receive nothing any more."""
    run(follower, "alter system set primary_conninfo = ''")
    run(follower, "select pg_reload_conf()")
    _wait(
        follower,
        "select 1 where not exists (select from pg_stat_wal_receiver where status = 'streaming')",
    )


def kill_machine(running: DevServer) -> None:
    """End a server with all of its processes at once, as when its machine loses power."""
    pid = running.pid
    assert pid is not None
    children = run(running, "select pid from pg_stat_activity")
    for victim in [pid, *(row["pid"] for row in children)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    running.kill()


def promote(follower: DevServer) -> None:
    """Make the standby the primary; it takes writes when this returns."""
    run(follower, "select pg_promote()")
    _wait(follower, "select 1 where not pg_is_in_recovery()")


def _wait(on: DevServer, query: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not run(on, query):
        if time.monotonic() > deadline:
            raise RuntimeError(f"never came true: {query}")
        time.sleep(0.05)
