"""Planning many ranges, against a plain INSERT of the same rows without our triggers and overlap guard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import psycopg

from bench.results import Figure, Result
from bench.rounds import Spread, ratios
from bench.rows_like import make_plain, plain_insert
from bench.world import Database, World

FIGURES = [
    Figure(
        "plan_one_call",
        "`plan_ranges` of all ranges in one call, against a plain INSERT of the same rows: time",
        at_most=1.5,
    ),
    Figure(
        "plan_1000_calls",
        "`plan_ranges` in 1,000 calls, against as many plain INSERTs: time",
        at_most=1.5,
    ),
    Figure(
        "plan_direct_insert",
        "an administrator's own INSERT, with our triggers and guard, against a plain one: time",
    ),
]
_CALLS = 1_000

_PLAN = b"select leases.plan_ranges(%s, %s, %s, 50, size => 1)"
_DIRECT = b"""insert into leases.ranges (group_id, start_id, end_id, priority, status)
select %s, n, n, 50, 'planned' from generate_series(%s::bigint, %s::bigint) as n"""

_Arms = dict[str, tuple[bytes, int, str]]


def run(world: World) -> Iterator[Result]:
    took = _measure(world)
    rows = [
        {
            "contender": name,
            "seconds": Spread.of(times).value,
            "rate": world.scale.plan_ranges / Spread.of(times).value,
            "samples": len(times),
        }
        for name, times in took.items()
    ]
    at = f"{world.scale.plan_ranges:,} ranges"
    whole = world.scale.plan_ranges >= 1_000_000
    for figure, ours, plain in zip(
        FIGURES,
        ("plan_ranges, one call", "plan_ranges, 1,000 calls", "direct INSERT"),
        ("plain INSERT", "plain INSERT, 1,000 of them", "plain INSERT"),
        strict=True,
    ):
        spread = ratios(took[ours], took[plain])
        shown = rows if figure is FIGURES[0] else []
        yield Result(figure, spread, world.scale.slow_rounds, at, whole, rows=shown)


def _measure(world: World) -> dict[str, list[float]]:
    template = world.fresh("plan_template")
    make_plain(template)
    template.settle()
    plain = plain_insert(template)
    template.close()
    arms: _Arms = {
        "plan_ranges, one call": (_PLAN, 1, "leases.ranges"),
        "plan_ranges, 1,000 calls": (_PLAN, _CALLS, "leases.ranges"),
        "direct INSERT": (_DIRECT, 1, "leases.ranges"),
        "plain INSERT": (plain, 1, "bench.plain"),
        "plain INSERT, 1,000 of them": (plain, _CALLS, "bench.plain"),
    }
    took: dict[str, list[float]] = {name: [] for name in arms}
    for number in range(world.scale.slow_rounds):
        names = list(arms)
        first = number % len(names)
        for name in [*names[first:], *names[:first]]:
            database = world.fresh("plan", template=template)
            took[name].append(_plan(world, database, *arms[name]))
            world.drop(database)
    return took


def _plan(world: World, database: Database, statement: bytes, calls: int, table: str) -> float:
    """Plan them in a fresh database; return the seconds. Raises if they are not there then."""
    group_id = database.value("select leases.add_group(name => 'log')")
    each = world.scale.plan_ranges // calls
    database.run("checkpoint")
    with database.connect() as connection:
        seconds = _timed(lambda: _calls(connection, statement, group_id, calls, each))
    if database.value(f"select count(*) from {table}") != each * calls:
        raise RuntimeError(f"not all ranges are in {table}")
    return seconds


def _calls(
    connection: psycopg.Connection[tuple[object, ...]],
    statement: bytes,
    group_id: int,
    calls: int,
    each: int,
) -> None:
    for call in range(calls):
        connection.execute(statement, (group_id, call * each, (call + 1) * each - 1))


def _timed(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
