"""Looking for quiet holders among many that are held and heard of."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg

from bench import pgbench, product
from bench.results import Figure, Result
from bench.rounds import Contender, in_rounds, ratios
from bench.scale import Size
from bench.world import Database, World

FIGURES = [
    Figure(
        "quiet_p50",
        "lease + release p50 among many held lanes whose holders beat, against few",
        at_most=1.3,
    ),
    Figure(
        "quiet_mean",
        "the same, the mean: with the looking up of each holder once a ttl",
        at_most=1.3,
    ),
]
_FREE = 500  # groups that are there to be leased, in both
_BEATS = 0.6  # of a ttl between two beats of a holder

_LEASE = """
\\if :node = 0
select leases.register_node(name => concat('holder-', :client_id::text)) as node \\gset
\\endif
select lease_id from leases.lease_group(node_id => :node, lane => 'history') \\gset
"""


def run(world: World) -> Iterator[Result]:
    few, many = world.scale.held_lanes
    databases = {held: _build(world, held) for held in (few, many)}
    with contextlib.ExitStack() as stack:
        for database in databases.values():
            stack.enter_context(_Beats(database, world.scale.quiet_ttl))
        contenders = {held: _contender(world, d, held) for held, d in databases.items()}
        # The first ttl is over before it counts: from then on, some lane or other is looked up at any time.
        deadline = time.monotonic() + world.scale.quiet_ttl * 1.2
        while time.monotonic() < deadline:
            for contender in contenders.values():
                contender.turn(world)
        turns = in_rounds(world, list(contenders.values()))
        for held, database in databases.items():
            _expect_held(database, held)
    of = {held: turns[c.name] for held, c in contenders.items()}
    rows = [
        {
            "contender": f"{held:,} held lanes",
            "mean_ms": sum(r.mean for r in t.runs) / len(t.runs),
            **t.row(),
        }
        for held, t in of.items()
    ]
    at = f"{many:,} held lanes against {few:,}, ttl {world.scale.quiet_ttl} s; commits do not wait"
    samples = sum(t.counted for t in of.values())
    means = {held: [r.mean for r in t.runs] for held, t in of.items()}
    whole = many >= 10_000
    yield Result(FIGURES[0], ratios(of[many].p50s, of[few].p50s), samples, at, whole, rows=rows)
    yield Result(FIGURES[1], ratios(means[many], means[few]), samples, at, whole)
    for database in databases.values():
        world.drop(database)


def _contender(world: World, database: Database, held: int) -> Contender:
    contender = product.lease_and_release(world, database, f"{held} held", clients=1)
    contender.options = pgbench.NO_WAIT
    return contender


def _build(world: World, held: int) -> Database:
    """Return a database in which so many lanes are held, and some are free."""
    database = world.fresh(f"quiet_{held}")
    product.build(database, Size(held + _FREE, 4 * (held + _FREE)))
    clients = 4
    pgbench.run(
        world,
        database,
        _LEASE,
        clients=clients,
        transactions=held // clients,
        variables={"node": 0},
        options=pgbench.NO_WAIT,
    )
    _expect_held(database, held)
    database.settle()
    return database


def _expect_held(database: Database, held: int) -> None:
    """See that nobody went quiet, and that nothing was taken over or let go."""
    found = database.run(
        "select groups_held, groups_quiet from leases.lane_status where lane = 'history'"
    )
    if found != [(held, 0)]:
        raise RuntimeError(f"held and quiet lanes: {found}, not {held} and 0")


class _Beats:
    """Holders that all beat in turn, so that none of them goes quiet."""

    def __init__(self, database: Database, ttl: int) -> None:
        self._database = database
        self._ttl = ttl
        self._leases = [
            lease_id
            for (lease_id,) in database.run(
                "select lease_id from leases.group_status where lease_id is not null"
            )
        ]
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._go_on)

    def __enter__(self) -> None:
        with self._connection() as connection:  # each is heard once, and then has a ttl
            self._beat(connection, pause=0)
        self._database.run("update leases.lanes set ttl = make_interval(secs => %s)", self._ttl)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error:
            raise self._error

    def _connection(self) -> psycopg.Connection[Any]:
        """Connect; a beat that need not wait for the disk leaves more of it to what is measured."""
        return self._database.connect(options=pgbench.NO_WAIT)

    def _go_on(self) -> None:
        try:
            with self._connection() as connection:
                while not self._stop.is_set():
                    self._beat(connection, pause=self._ttl * _BEATS / len(self._leases))
        except BaseException as error:
            self._error = error

    def _beat(self, connection: psycopg.Connection[Any], *, pause: float) -> None:
        due = time.monotonic()
        for lease_id in self._leases:
            connection.execute("select leases.heartbeat(lease_id => %s)", (lease_id,))
            due += pause
            if self._stop.wait(max(0.0, due - time.monotonic()) if pause else 0):
                return
