"""A server that goes down, has no connection left, cancels, and can't serialize."""

from __future__ import annotations

import contextlib
import time

import psycopg

from tests.faults.kinds.base import Kind
from tests.faults.world import World

_HOLD = 1.0  # seconds without a free connection


class Server(Kind):
    """Immediate shutdown and start; no connections left; cancels, timeouts and ends; SERIALIZABLE."""

    name = "server"
    pause = (0.5, 2.5)

    def prepare(self, here: World) -> None:
        for level, name in zip(("serializable", "repeatable read"), here.names[2:4], strict=True):
            here.ask(f"alter role {name} set default_transaction_isolation = '{level}'")
        here.ask(f"alter role {here.names[-1]} set default_transaction_isolation = 'serializable'")
        here.ask(f"alter role {here.names[4]} set statement_timeout = '20ms'")

    def strike(self, here: World) -> str | None:
        return here.dice.choice([_crash, _use_up, _cancel, _cancel, _terminate])(here)

    def heal(self, here: World) -> None:
        here.ask(f"alter role {here.names[4]} reset statement_timeout")
        here.ask(  # whose session began with it has it still
            f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{here.names[4]}'"
        )


def _crash(here: World) -> str:
    here.server.stop("immediate")
    here.keep_log()
    time.sleep(here.dice.uniform(0.0, 0.5))
    here.server.start()
    return "the server shut down at once and started"


def _use_up(here: World) -> str:
    with contextlib.ExitStack() as stack:
        until = time.monotonic() + _HOLD
        while time.monotonic() < until:
            try:
                stack.enter_context(psycopg.connect(here.server.dsn("faults"), user=here.names[0]))
            except psycopg.OperationalError:
                time.sleep(0.05)
    return "all connections used up"


def _cancel(here: World) -> str | None:
    """Cancel what is under way, a few times."""
    hit = 0
    with here.admin() as db:
        for _ in range(20):
            rows = db.execute(
                "select pg_cancel_backend(pid) from pg_stat_activity"
                " where state = 'active' and usename like 'indexer%' order by random() limit 3"
            ).fetchall()
            hit += len(rows)
            time.sleep(0.01)
    return "a volley of cancels" if hit else None


def _terminate(here: World) -> str | None:
    rows = here.ask(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where usename like 'indexer%' or usename = 'planner' order by random() limit 3"
    )
    return "three sessions ended" if rows else None
