"""Settling: what it costs when there is nothing to put back, and a range put back."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from bench import pgbench, product
from bench.results import Figure, Result
from bench.rounds import Spread
from bench.world import Database, World

FIGURES = [
    Figure(
        "settle_nothing",
        "`release_group` with nothing to put back, in a lane with many done ranges: p50",
        unit="ms",
        at_most=2,
    ),
    Figure(
        "settle_nothing_no_snapshot",
        "the same in a lane without a snapshot",
        unit="ms",
        at_most=2,
    ),
    Figure(
        "settle_put_back",
        "`release_group`, per range put back",
        unit="µs",
        at_most=10,
    ),
    Figure(
        "settle_fall_back",
        "`discard_snapshot`, which falls back to the one before (P6): per range put back",
        unit="µs",
        at_most=10,
    ),
    Figure(
        "settle_cover",
        "`commit_snapshot`, per range finished since the one before",
        unit="µs",
    ),
]
_NOTHING, _NO_SNAPSHOT, _PUT_BACK, _FALL_BACK, _COVER = FIGURES
_PAIRS = 40  # lease and release, a round


def run(world: World) -> Iterator[Result]:
    yield from _nothing(world)
    yield from _put_back(world)


def _nothing(world: World) -> Iterator[Result]:
    arms = {
        (done, snapshot): _lane(world, done, snapshot=snapshot)
        for snapshot in (True, False)
        for done in (world.scale.done_ranges, 10)
    }
    took: dict[tuple[int, bool], list[list[float]]] = {arm: [] for arm in arms}
    for number in range(world.scale.rounds + 1):
        for arm, database in arms.items():
            times = [_release(database) for _ in range(_PAIRS)]
            if number:  # the first round is to warm up
                took[arm].append(times)
    for figure, snapshot in ((_NOTHING, True), (_NO_SNAPSHOT, False)):
        many, few = (
            [float(np.median(t)) for t in took[done, snapshot]]
            for done in (world.scale.done_ranges, 10)
        )
        yield Result(
            figure,
            Spread.of(many),
            _PAIRS * len(many),
            f"{world.scale.done_ranges:,} done ranges",
            world.scale.done_ranges >= 10_000_000,
            notes=[f"With 10 done ranges: {np.median(few):.2f} ms."],
        )


def _lane(world: World, done: int, *, snapshot: bool) -> Database:
    """Return a database with one group, so many of whose ranges are done, and a few of them planned."""

    def build(database: Database) -> None:
        group_id = database.value("select leases.add_group(name => 'log')")
        for first in range(0, done, 500_000):
            database.run(
                """insert into leases.ranges (group_id, start_id, end_id, priority, status)
                select %s, n, n, 50, 'done' from generate_series(%s::bigint, %s) as n""",
                *(group_id, first, min(first + 500_000, done) - 1),
            )
        database.run(
            "select leases.plan_ranges(%s, %s, %s, 50, size => 1)", group_id, done, done + 99
        )
        database.settle()

    def add_snapshot(database: Database) -> None:
        lease_id, _ = product.ask_lease(database)
        product.take_snapshot(database, lease_id, done)
        database.run("select leases.release_group(%s)", lease_id)
        database.settle()

    bare = world.database(f"settle_{done}", build)
    if not snapshot:
        return bare
    return world.database(f"settle_{done}_snapshot", add_snapshot, template=bare)


def _release(database: Database) -> float:
    """Lease the lane and give it back; return the milliseconds of the latter."""
    lease_id, _ = product.ask_lease(database)
    begin = time.perf_counter()
    database.run("select leases.release_group(lease_id => %s)", lease_id)
    return (time.perf_counter() - begin) * 1000


def _put_back(world: World) -> Iterator[Result]:
    count = world.scale.put_back
    database = world.fresh("settle_put_back")
    product.hold(database, "put_back", clients=1, ranges=2 * count + 1)
    group_id = int(database.value("select group_id from bench.hands"))
    took: dict[str, list[float]] = {"released": [], "covered": [], "fell back": []}
    leased = []
    for _ in range(world.scale.slow_rounds):
        _finish(world, database, count)
        took["released"].append(
            _timed(database, "select leases.release_group(lease_id => %s)", _lease(database))
        )
        _expect_done(database, group_id, 0)
        begin = time.perf_counter()
        lease_id, _ = product.ask_lease(database)
        leased.append((time.perf_counter() - begin) * 1000)
        database.run("update bench.hands set lease_id = %s", lease_id)
        _finish(world, database, count)
        took["covered"].append(_cover(database))
        _expect_done(database, group_id, count)
        took["fell back"].append(
            _timed(database, "select leases.discard_snapshot(%s, 'history')", group_id)
        )
        _expect_done(database, group_id, 0)
        database.run("update bench.hands set lease_id = %s", product.ask_lease(database)[0])
    per_range = {name: Spread.of([1000 * t / count for t in times]) for name, times in took.items()}
    at = f"{count:,} ranges"
    note = f"The lease after it took {np.median(leased):.2f} ms (median)."
    rounds = world.scale.slow_rounds
    yield Result(_PUT_BACK, per_range["released"], rounds, at, True, notes=[note])
    yield Result(_FALL_BACK, per_range["fell back"], rounds, at, True)
    yield Result(_COVER, per_range["covered"], rounds, at, True)
    world.drop(database)


def _lease(database: Database) -> int:
    return int(database.value("select lease_id from bench.hands"))


def _timed(database: Database, call: str, *params: object) -> float:
    begin = time.perf_counter()
    database.run(call, *params)
    return (time.perf_counter() - begin) * 1000


def _finish(world: World, database: Database, count: int) -> None:
    """Finish so many ranges; this is not measured, and so need not wait for the disk."""
    pgbench.run(
        world,
        database,
        product.CYCLE,
        transactions=count,
        variables={"lease": 0, "hand": 0, "arm": "put_back"},
        options=pgbench.NO_WAIT,
    )


def _cover(database: Database) -> float:
    """Begin a snapshot, and return what its commit took."""
    lease_id = _lease(database)
    hand = database.value("select next_id from leases.next_range(lease_id => %s)", lease_id)
    snapshot_id = database.value(
        "select snapshot_id from leases.begin_snapshot(lease_id => %s, next_id => %s)",
        lease_id,
        hand,
    )
    return _timed(
        database,
        "select leases.commit_snapshot(%s, %s, 1000, %s)",
        *(lease_id, snapshot_id, product.CHECKSUM),
    )


def _expect_done(database: Database, group_id: int, count: int) -> None:
    """See that the ranges really went where they should have gone."""
    done = database.value(
        "select ranges_done from leases.group_status where group_id = %s and lane = 'history'",
        group_id,
    )
    if done != count:
        raise RuntimeError(f"{done} ranges are done, not {count}")
