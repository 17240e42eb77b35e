"""A call of the Python package, against the same SELECT through bare psycopg."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import psycopg

import pyleases
from bench.results import Figure, Result
from bench.rounds import Spread, ratios
from bench.world import World
from pyleases.lease import Lease

FIGURES = [
    Figure(
        "wrapper_cycle",
        "`Lease.finish_and_next`, against the same SELECT through psycopg: p50",
        at_most=1.15,
    ),
    Figure(
        "wrapper_read",
        "`Lease.current_snapshot`, which writes nothing and waits for no disk, likewise: p50",
        at_most=1.15,
    ),
]
_CYCLE = """select range_id, start_id, end_id, next_id, priority, capture, attempts, rules_version
from leases.finish_and_next(lease_id => %s::bigint, range_id => %s::bigint, headers => %s::bigint)"""
_CURRENT = """select snapshot_id, next_id, file, bytes, checksum, taken_at
from leases.current_snapshot(lease_id => %s::bigint)"""
_BLOCK = 50  # calls of one before the other's turn

Call = Callable[[], None]


def run(world: World) -> Iterator[Result]:
    database = world.fresh("wrapper")
    work = world.scale.python_calls * (world.scale.rounds + 2)
    for name in ("wrapped", "bare"):
        group_id = database.value("select leases.add_group(name => %s)", name)
        database.run("select leases.plan_ranges(%s, 0, %s, 50, size => 1)", group_id, work)
    with pyleases.connect(database.dsn) as leases, database.connect() as connection:
        lease, other = _lease(leases), _lease(leases)
        yield _compare(world, FIGURES[0], _wrapped_cycle(lease), _bare_cycle(connection, other))
        yield _compare(
            world,
            FIGURES[1],
            lambda: _nothing(lease.current_snapshot()),
            lambda: _nothing(connection.execute(_CURRENT, (other.lease_id,)).fetchone()),
        )
    world.drop(database)


def _lease(leases: pyleases.Leases) -> Lease:
    lease = leases.lease_group(leases.register_node("bench"))
    if lease is None:
        raise RuntimeError("there is nothing to lease")
    return lease


def _nothing(answer: object) -> None:
    if answer is not None:
        raise RuntimeError(f"there is no snapshot, but {answer}")


def _wrapped_cycle(lease: Lease) -> Call:
    hand = lease.next_range()

    def call() -> None:
        nonlocal hand
        assert hand is not None
        hand = lease.finish_and_next(hand.range_id, headers=100)

    return call


def _bare_cycle(connection: psycopg.Connection[tuple[int, ...]], lease: Lease) -> Call:
    hand = lease.next_range()
    assert hand is not None
    range_id = hand.range_id

    def call() -> None:
        nonlocal range_id
        row = connection.execute(_CYCLE, (lease.lease_id, range_id, 100)).fetchone()
        assert row is not None
        range_id = row[0]

    return call


def _compare(world: World, figure: Figure, wrapped: Call, bare: Call) -> Result:
    calls = {"wrapped": wrapped, "bare": bare}
    p50s: dict[str, list[float]] = {name: [] for name in calls}
    _round(calls, 100)
    for _ in range(world.scale.rounds):
        times = _round(calls, world.scale.python_calls)
        for name in calls:
            p50s[name].append(float(np.median(times[name])))
    wrapped_us, bare_us = (Spread.of(p50s[n]).value * 1e6 for n in calls)
    return Result(
        figure,
        ratios(p50s["wrapped"], p50s["bare"]),
        world.scale.python_calls * world.scale.rounds,
        "1 connection, prepared",
        True,
        notes=[f"{wrapped_us:.0f} µs against {bare_us:.0f} µs."],
    )


def _round(calls: dict[str, Call], count: int) -> dict[str, list[float]]:
    """Call each so often, in blocks by turns; return what each call took."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for block in range(0, count, _BLOCK):
        order = list(calls) if block // _BLOCK % 2 else list(reversed(calls))
        for name in order:
            call = calls[name]
            for _ in range(_BLOCK):
                begin = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - begin)
    return times
