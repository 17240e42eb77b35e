"""The promise among workers that really run at once: threads, a short ttl, freezes and deaths.

Each worker takes a snapshot before it reads a first article, so that no window is ever lost for
good: at the end each lane's tape must hold every planned article, in order, with no seam.
"""

from __future__ import annotations

import os
import random
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = float(os.environ.get("PYLEASES_SOAK", "6"))
TTL = 0.4
GROUPS = 5
LANES = {"history": 20, "tail": 5}


@dataclass
class Soak:
    """What the threads share: the snapshot store, and what went wrong."""

    connect: Callable[..., psycopg.Connection]
    groups: list[int]
    tapes: dict[int, list[int]] = field(default_factory=dict)
    errors: list[BaseException] = field(default_factory=list)
    until: float = 0.0
    takeovers: int = 0

    def over(self) -> bool:
        return bool(self.errors) or time.monotonic() > self.until


class Worker:
    """Leases, reads, takes snapshots; freezes and dies at random."""

    def __init__(self, soak: Soak, number: int, *, steady: bool = False) -> None:
        self.soak = soak
        self.conn = soak.connect()
        self.random = random.Random(number)
        self.steady = steady
        self.node = self.call("register_node", name=f"soak-{number}")[0]["register_node"]
        if number % 3 == 2:
            self.conn.execute("set default_transaction_isolation = 'repeatable read'")

    def call(self, function: str, **args) -> list[dict]:
        """Call a function, again where PostgreSQL reports a serialization failure (O3)."""
        named = ", ".join(f"{name} => %({name})s" for name in args)
        while True:
            with suppress(psycopg.errors.SerializationFailure):
                return self.conn.execute(
                    f"select * from leases.{function}({named})", args
                ).fetchall()

    def sometimes(self, odds: float) -> bool:
        return not self.steady and self.random.random() < odds

    def lease(self, lane: str) -> bool:
        """Hold a group until it is caught up, or lost, or this worker dies. False: got nothing."""
        rows = self.call("lease_group", node_id=self.node, lane=lane)
        for lease in rows:
            with suppress(LeaseLostError):
                self.hold(lease)
        return bool(rows)

    def hold(self, lease: dict) -> None:
        me = {"lease_id": lease["lease_id"]}
        if lease["snapshot_id"] is None:
            tape: list[int] = []
            self.snapshot(me, tape, 0)
        else:
            tape = list(self.soak.tapes[lease["snapshot_id"]])
        rows = self.guarded("next_range", **me)
        while rows:
            (r,) = rows
            middle = self.random.randint(r["next_id"], r["end_id"] + 1)
            tape += range(r["next_id"], middle)
            if self.sometimes(0.3):
                self.guarded("heartbeat", **me, next_id=middle)
            if self.sometimes(0.1):
                self.snapshot(me, tape, middle)
            if self.sometimes(0.02):
                return  # dies
            if self.sometimes(0.02):
                time.sleep(TTL * 1.3)  # freezes, wakes, goes on
            tape += range(middle, r["end_id"] + 1)
            args = {**me, "range_id": r["range_id"]}
            if self.sometimes(0.05):
                self.guarded("finish_range", **args)
            rows = self.guarded("finish_and_next", **args)
        self.snapshot(me, tape, tape[-1] + 1 if tape else 0)
        self.guarded("release_group", **me)

    def snapshot(self, me: dict, tape: list[int], at: int) -> None:
        (begun,) = self.guarded("begin_snapshot", **me, next_id=at)
        self.soak.tapes[begun["snapshot_id"]] = list(tape)
        if self.sometimes(0.03):
            time.sleep(TTL * 1.3)
        self.guarded(
            "commit_snapshot",
            **me,
            snapshot_id=begun["snapshot_id"],
            bytes=len(tape),
            checksum="xxh3_128:00",
        )

    def guarded(self, function: str, **args) -> list[dict]:
        try:
            return self.call(function, **args)
        except psycopg.Error as error:
            if error.sqlstate != "LS001":
                raise
            self.soak.takeovers += 1
            raise LeaseLostError from error

    def run(self) -> None:
        while not self.soak.over():
            if not self.lease(self.random.choice(list(LANES))):
                time.sleep(0.01)


class LeaseLostError(Exception):
    """The worker drops its window."""


def plan(soak: Soak) -> None:
    """Plan above, many groups a transaction, in descending order; some are given up."""
    conn, dice = soak.connect(), random.Random(0)
    high = {(g, lane): -1 if lane == "history" else 10**6 for g in soak.groups for lane in LANES}
    while not soak.over():
        before = dict(high)
        with conn.transaction(force_rollback=(given_up := dice.random() < 0.2)):
            for group in sorted(dice.sample(soak.groups, 3), reverse=True):
                lane = dice.choice(list(LANES))
                start = high[group, lane] + 1
                high[group, lane] += dice.randint(1, 60)
                conn.execute(
                    "select leases.plan_ranges(group_id => %s, start_id => %s, end_id => %s,"
                    " priority => %s, size => %s)",
                    [group, start, high[group, lane], LANES[lane], dice.randint(1, 20)],
                )
            time.sleep(dice.random() * 0.02)
        if given_up:
            high = before
        time.sleep(dice.random() * 0.03)


def administer(soak: Soak) -> None:
    """Look at everything, change priorities, end leases, sweep."""
    conn, dice = soak.connect(), random.Random(1)
    while not soak.over():
        held = conn.execute(
            "select lease_id from leases.group_status where lease_id is not null"
        ).fetchall()
        for row in conn.execute("select * from leases.group_status").fetchall():
            assert row["articles_offered"] >= 0, row
            assert row["ranges_done"] >= 0, row
        conn.execute("select * from leases.lane_status").fetchall()
        if held and dice.random() < 0.1:
            with suppress(LeaseLostError):
                lease = dice.choice(held)["lease_id"]
                try:
                    conn.execute("select leases.end_lease(lease_id => %s)", [lease])
                except psycopg.Error as error:
                    if error.sqlstate != "LS001":
                        raise
        group = dice.choice(soak.groups)
        conn.execute(
            "update leases.groups set priority = %s where group_id = %s",
            [dice.randint(90, 110), group],
        )
        conn.execute(
            "select leases.set_priority(group_id => %s, start_id => 0, end_id => 9999,"
            " priority => %s)",
            [group, dice.choice([11, 20, 30])],
        )
        stale = conn.execute("select * from leases.stale_snapshots()").fetchall()
        conn.execute(
            "select leases.forget_snapshots(snapshot_ids => %s)",
            [[s["snapshot_id"] for s in stale]],
        )
        time.sleep(0.05)


@pytest.mark.timeout(SECONDS * 3 + 60)
def test_promise_workers_that_run_at_once_read_each_article_once_and_in_order(db, connect):
    db.execute("update leases.lanes set ttl = make_interval(secs => %s)", [TTL])
    groups = [
        db.execute("select leases.add_group(name => %s) as id", [f"soak.{n}"]).fetchone()["id"]
        for n in range(GROUPS)
    ]
    soak = Soak(connect, groups, until=time.monotonic() + SECONDS)
    workers = [Worker(soak, n) for n in range(6)]

    def shielded(run: Callable[[], None]) -> Callable[[], None]:
        def shield() -> None:
            try:
                run()
            except BaseException as error:
                soak.errors.append(error)

        return shield

    jobs = [w.run for w in workers] + [lambda: plan(soak), lambda: administer(soak)]
    threads = [threading.Thread(target=shielded(job)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if soak.errors:
        raise soak.errors[0]

    time.sleep(TTL * 1.5)
    last = Worker(soak, 99, steady=True)
    for lane in LANES:
        while last.lease(lane):
            pass
    assert not db.execute("select from leases.range_status where status <> 'done'").fetchall()
    assert not db.execute("select from leases.group_status where lease_id is not null").fetchall()
    for group in groups:
        for lane in LANES:
            planned = [
                a
                for r in db.execute(
                    "select start_id, end_id from leases.range_status"
                    " where group_id = %s and lane = %s order by start_id",
                    [group, lane],
                ).fetchall()
                for a in range(r["start_id"], r["end_id"] + 1)
            ]
            row = db.execute(
                "select * from leases.group_status where group_id = %s and lane = %s",
                [group, lane],
            ).fetchone()
            if planned:
                assert soak.tapes[row["snapshot_id"]] == planned
                assert row["articles_offered"] == 0
    assert soak.takeovers
