"""L2: holders' calls while a planner's large transaction is open."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from bench import pgbench, product
from bench.results import Figure, Result
from bench.rounds import Turns, ratios
from bench.rows_like import make_plain, plain_insert
from bench.world import Database, World

FIGURES = [
    Figure(
        "planner_meets_holders",
        "holders' p99 while ranges are planned into a held group in one open transaction, against none",
        at_most=2,
    ),
    Figure(
        "plain_insert_meets_holders",
        "the same while a plain INSERT writes as many rows to a table that has nothing to do with it",
    ),
]
_CLIENTS = 4
_RATE = 200  # calls a second, together: far below what the machine can, so that they do not wait for each other
_SECONDS = 4  # of a turn; planning a million ranges takes longer
_ARM = "planner"


def run(world: World) -> Iterator[Result]:
    database = world.fresh("planner")
    make_plain(database)
    work = _RATE * _SECONDS * (3 * world.scale.slow_rounds + 6)
    groups = product.hold(database, _ARM, clients=_CLIENTS, ranges=work)
    database.settle()
    plan = b"select leases.plan_ranges(%s, %s, %s, 50, size => 1)"
    statements = {"none": None, "plan_ranges": plan, "plain INSERT": plain_insert(database)}
    turns = {name: Turns() for name in statements}
    _holders(world, database)
    first = work
    for number in range(world.scale.slow_rounds):
        names = list(statements)
        turn = number % len(names)
        for name in [*names[turn:], *names[:turn]]:
            statement = statements[name]
            last = first + world.scale.planner_ranges - 1
            with _Planner(database, statement, (groups[0], first, last)):
                turns[name].runs.append(_holders(world, database))
            first = last + 1
    rows = [{"contender": n, "clients": _CLIENTS, **t.row()} for n, t in turns.items()]
    at = f"{world.scale.planner_ranges:,} ranges, {_CLIENTS} holders making {_RATE} cycles a second"
    for figure, name in zip(FIGURES, ("plan_ranges", "plain INSERT"), strict=True):
        yield Result(
            figure,
            ratios(turns[name].p99s, turns["none"].p99s),
            turns[name].counted,
            at,
            world.scale.planner_ranges >= 1_000_000,
            rows=rows if figure is FIGURES[0] else [],
            notes=[
                f"The longest call took {_longest(turns[name]):.1f} ms, {_longest(turns['none']):.1f} without."
            ],
        )
    world.drop(database)


def _longest(turns: Turns) -> float:
    return float(np.median([r.milliseconds.max() for r in turns.runs]))


def _holders(world: World, database: Database) -> pgbench.Run:
    before = product.done_in(database, _ARM)()
    run = pgbench.run(
        world,
        database,
        product.CYCLE,
        clients=_CLIENTS,
        seconds=_SECONDS,
        variables={"lease": 0, "hand": 0, "arm": _ARM},
        rate=_RATE,
    )
    made = product.done_in(database, _ARM)() - before
    if made != run.total:
        raise RuntimeError(f"pgbench made {run.total} cycles, the database shows {made}")
    return run


class _Planner:
    """A transaction that plans, and stays open until the block is left."""

    def __init__(
        self, database: Database, statement: bytes | None, values: tuple[int, ...]
    ) -> None:
        self._database = database
        self._statement = statement
        self._values = values
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._plan)

    def __enter__(self) -> None:
        if self._statement:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._statement:
            self._thread.join()
        if self._error:
            raise self._error

    def _plan(self) -> None:
        try:
            with self._database.connect(autocommit=False) as connection:
                connection.execute(self._statement or b"", self._values)
                self._done.wait()
        except BaseException as error:
            self._error = error
