"""Plans must not flip: the planner's statistics taken at the worst moments, and none at all."""

from __future__ import annotations

from collections.abc import Iterator

from bench import pgbench, product
from bench.results import Figure, Result
from bench.rounds import Contender, Turns, in_rounds, ratios
from bench.world import Database, World

FIGURES = [
    Figure(
        "stats_lease",
        "lease + release p50 with the worst of the statistics, against those of the moment",
        at_most=1.3,
    ),
    Figure(
        "stats_cycle",
        "`finish_and_next` p50 likewise, in a lane whose ranges below are done",
        at_most=1.3,
    ),
]
_MOMENTS = ("of the moment", "all planned", "all done", "none")
_GROUPS = 1_000


def run(world: World) -> Iterator[Result]:
    databases = {moment: _build(world, moment) for moment in _MOMENTS}
    leases = {
        m: product.lease_and_release(world, d, f"lease, {m}", clients=1)
        for m, d in databases.items()
    }
    cycles = {m: product.cycle(world, d, f"cycle, {m}", "large", 1) for m, d in databases.items()}
    for contender in (*leases.values(), *cycles.values()):
        contender.options = pgbench.NO_WAIT
    yield _worst(world, FIGURES[0], leases)
    yield _worst(world, FIGURES[1], cycles)


def _worst(world: World, figure: Figure, contenders: dict[str, Contender]) -> Result:
    turns = in_rounds(world, list(contenders.values()))
    of = {moment: turns[c.name] for moment, c in contenders.items()}
    now = of["of the moment"]
    spreads = {m: ratios(t.p50s, now.p50s) for m, t in of.items() if t is not now}
    worst = max(spreads, key=lambda m: spreads[m].value)
    return Result(
        figure,
        spreads[worst],
        of[worst].counted,
        f"{_GROUPS:,} groups of 10 ranges and one with {world.scale.stats_ranges:,} done; commits do not wait; "
        f"the worst: {worst}",
        world.scale.stats_ranges >= 100_000,
        rows=[_row(m, t, now) for m, t in of.items()],
    )


def _row(moment: str, turns: Turns, now: Turns) -> dict[str, object]:
    return {
        "contender": f"statistics: {moment}",
        **turns.row(),
        "ratio": ratios(turns.p50s, now.p50s).value,
    }


def _build(world: World, moment: str) -> Database:
    """Return a database that holds the same whatever the moment at which its statistics were taken."""

    def build(database: Database) -> None:
        _without_autovacuum(database)
        database.run(
            "insert into leases.groups (name) select 'log.' || n from generate_series(1, %s) as n",
            _GROUPS + 1,
        )
        large = int(database.value("select max(group_id) from leases.groups"))
        done = world.scale.stats_ranges
        end = done + world.scale.enough(1, world.scale.seconds)
        # The ranges of one status first: at that moment, all are planned or all are done.
        for status in ("done", "planned") if moment == "all done" else ("planned", "done"):
            _insert(
                database,
                status,
                f"group_id < {large}",
                50,
                *{"done": (0, 4), "planned": (5, 9)}[status],
            )
            _insert(
                database,
                status,
                f"group_id = {large}",
                20,
                *{"done": (0, done - 1), "planned": (done, end - 1)}[status],
            )
            if moment == f"all {status}":
                database.run("analyze")
        database.run("vacuum full")  # the statistics stay as they are
        _hold_large(database, large, done)
        if moment == "of the moment":
            database.run("analyze")
        database.run("checkpoint")

    return world.database(f"stats_{_MOMENTS.index(moment)}", build)


def _insert(
    database: Database, status: str, which: str, priority: int, first: int, last: int
) -> None:
    database.run(
        f"""insert into leases.ranges (group_id, start_id, end_id, priority, status)
        select g.group_id, n, n, %s, %s
        from leases.groups as g, generate_series(%s::bigint, %s) as n where g.{which}""",
        *(priority, status, first, last),
    )


def _without_autovacuum(database: Database) -> None:
    for (table,) in database.run(
        "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname = 'leases'"
    ):
        database.run(f"alter table {table} set (autovacuum_enabled = off)")


def _hold_large(database: Database, large: int, done: int) -> None:
    """Lease the large group, whose ranges are the most urgent, for the cycle."""
    lease_id, group_id = product.ask_lease(database)
    if group_id != large:
        raise RuntimeError(f"got group {group_id}, not {large}")
    product.take_snapshot(database, lease_id, done)
    product.hands(database)
    database.run("insert into bench.hands values ('large', 0, %s, %s)", lease_id, group_id)
