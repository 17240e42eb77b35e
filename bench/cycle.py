"""A worker's cycle: finish the range in hand and take the next."""

from __future__ import annotations

from collections.abc import Iterator

from bench import least, peers, pgbench, product
from bench.results import Figure, Result
from bench.rounds import Contender, Turns, in_rounds, ratios
from bench.world import World

CLIENTS = (1, 4, 16)
# A snapshot of the window is begun and committed every so many ranges: the cycle with all that follows from it.
SNAPSHOT_EVERY = 1_000

FIGURES = [
    *(
        Figure(
            f"cycle_{clients}",
            f"`finish_and_next` in a lane with a snapshot, a second, against the floor: {clients} client(s)",
            at_least=0.9,
        )
        for clients in CLIENTS
    ),
    *(
        Figure(
            f"cycle_no_snapshot_{clients}",
            f"`finish_and_next` in a lane without a snapshot, against the floor: {clients} client(s)",
            at_least=0.9,
        )
        for clients in CLIENTS
    ),
    *(
        Figure(
            f"cycle_snapshots_{clients}",
            f"the same with a snapshot begun and committed every {SNAPSHOT_EVERY:,} ranges: {clients} client(s)",
        )
        for clients in CLIENTS
    ),
    Figure(
        "tail_above_history",
        "`finish_and_next` p50 in the tail lane above planned history ranges, against an empty one",
        at_most=1.1,
    ),
]

CYCLE_WITH_SNAPSHOTS = f"""{product.CYCLE}
\\set count :count + 1
\\if :count % {SNAPSHOT_EVERY} = 0
select snapshot_id as snapshot from leases.begin_snapshot(
    lease_id => :lease, next_id => (select h.next_id from leases.next_range(lease_id => :lease) as h)) \\gset
select leases.commit_snapshot(
    lease_id => :lease, snapshot_id => :snapshot, bytes => 1000, checksum => '{product.CHECKSUM}');
\\endif
"""


def run(world: World) -> Iterator[Result]:
    for clients in world.scale.clients:
        yield from _cycles(world, clients)
    yield _tail(world)


def _ours(world: World, clients: int) -> list[Contender]:
    database = world.database("cycle")
    ranges = world.scale.enough(clients, world.scale.seconds) // clients
    made = []
    for arm, snapshot, script in (
        ("cycle", True, product.CYCLE),
        ("cycle_no_snapshot", False, product.CYCLE),
        ("cycle_snapshots", True, CYCLE_WITH_SNAPSHOTS),
    ):
        name = f"{arm}_{clients}"
        product.hold(database, name, clients=clients, ranges=ranges, snapshot=snapshot)
        contender = product.cycle(world, database, name, name, clients, script)
        contender.variables = {**contender.variables, "count": 0, "snapshot": 0}
        made.append(contender)
    return made


def _least(world: World, clients: int) -> Contender:
    database = world.database("cycle")
    ranges = world.scale.enough(clients, world.scale.seconds) // clients
    product.hold(database, f"least_{clients}", clients=clients, ranges=ranges)
    contender = product.cycle(world, database, least.NAME, f"least_{clients}", clients)
    return least.of(contender, database)


def _cycles(world: World, clients: int) -> Iterator[Result]:
    scale = world.scale
    ours = _ours(world, clients)
    bare = _least(world, clients)
    database = world.database("peers")
    jobs = scale.enough(clients, scale.peer_seconds)
    each = jobs // clients
    others = [
        peers.baseline_cycle(world, database, 1_000 + 100 * clients, clients, each, one_call=True),
        peers.baseline_cycle(world, database, 2_000 + 100 * clients, clients, each, one_call=False),
        peers.skip_locked_claim(world, database, jobs, clients),
        peers.skip_locked_delete(world, database, jobs, clients),
        peers.procrastinate(world, database, jobs // 2, clients),
    ]
    batches = peers.pgq(world, database, jobs // clients, clients)
    others += [batches] if batches else []
    floor = peers.floor(world, database, clients)
    database.settle()
    ours[0].database.settle()
    turns = in_rounds(world, [*ours, bare, floor, *others])
    rows = [
        {"contender": n, "clients": clients, **t.row(), **_against(t, turns["floor"])}
        for n, t in turns.items()
    ]
    if not batches:
        rows.append({"contender": "PgQ, batches of one", "clients": clients, "absent": True})
    for contender in ours:
        t = turns[contender.name]
        yield Result(
            figure=next(f for f in FIGURES if f.name == contender.name),
            spread=ratios(t.rates, turns["floor"].rates),
            samples=t.counted,
            at=f"{clients} client(s), rounds of {scale.seconds} s",
            whole=True,
            rows=rows if contender is ours[0] else [],
        )


def _against(turns: Turns, floor: Turns) -> dict[str, float]:
    spread = ratios(turns.rates, floor.rates)
    return {"ratio": spread.value, "low": spread.low, "high": spread.high}


def _tail(world: World) -> Result:
    database = world.database("cycle")
    above, empty = (
        _tail_arm(world, name, history)
        for name, history in (("above", world.scale.history_ranges), ("empty", 0))
    )
    database.settle()
    turns = in_rounds(world, [above, empty])
    return Result(
        figure=FIGURES[-1],
        spread=ratios(turns["above"].p50s, turns["empty"].p50s),
        samples=turns["above"].counted + turns["empty"].counted,
        at=f"{world.scale.history_ranges:,} history ranges, 1 client; commits do not wait",
        whole=world.scale.history_ranges >= 100_000,
        rows=[{"contender": n, "clients": 1, **t.row()} for n, t in turns.items()],
    )


def _tail_arm(world: World, name: str, history: int) -> Contender:
    database = world.database("cycle")
    product.hold(
        database,
        f"tail_{name}",
        clients=1,
        ranges=world.scale.enough(1, world.scale.seconds),
        priority=5,
        history=history,
        lane="tail",
    )
    contender = product.cycle(world, database, name, f"tail_{name}", 1)
    contender.options = pgbench.NO_WAIT
    return contender
