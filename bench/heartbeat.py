"""A heartbeat with a resume point, against the floor."""

from __future__ import annotations

from collections.abc import Iterator

from bench import least, peers, product
from bench.counters import Counters, counted
from bench.results import Figure, Result
from bench.rounds import Contender, in_rounds, ratios
from bench.world import Database, World

CLIENTS = (1, 16)
FIGURES = [
    Figure(
        f"heartbeat_{clients}",
        f"`heartbeat` with a resume point, a second, against the floor: {clients} client(s)",
        at_least=0.9,
    )
    for clients in CLIENTS
]

HEARTBEAT = """
\\if :lease = 0
select lease_id as lease from bench.hands where arm = :arm and client = :client_id \\gset
select next_id as next from leases.next_range(lease_id => :lease) \\gset
\\endif
\\set next :next + 1
select leases.heartbeat(lease_id => :lease, next_id => :next);
"""


def run(world: World) -> Iterator[Result]:
    for figure, clients in zip(FIGURES, CLIENTS, strict=True):
        yield _heartbeat(world, figure, clients)


def _heartbeat(world: World, figure: Figure, clients: int) -> Result:
    database = world.database("heartbeat")
    floor = peers.floor(world, world.database("peers"), clients)
    ours = _ours(world, database, clients)
    bare = least.of(_ours(world, database, clients, least.NAME), database)
    turns = in_rounds(world, [ours, floor, bare])
    before = counted(database, "leases")
    ours.turn(world)
    return Result(
        figure,
        ratios(turns["pyleases"].rates, turns["floor"].rates),
        turns["pyleases"].counted,
        f"{clients} client(s)",
        True,
        rows=[{"contender": n, "clients": clients, **t.row()} for n, t in turns.items()],
        notes=[_how(counted(database, "leases") - before)],
    )


def _ours(world: World, database: Database, clients: int, name: str = "pyleases") -> Contender:
    arm = f"heartbeat {name} {clients}"
    product.hold(database, arm, clients=clients, ranges=1, size=10**15)
    return Contender(
        name=name,
        database=database,
        script=HEARTBEAT,
        done=lambda: int(
            database.value(
                """select sum(s.next_id) from leases.range_status as s
                where s.group_id in (select group_id from bench.hands where arm = %s)""",
                arm,
            )
        ),
        seconds=world.scale.seconds,
        clients=clients,
        variables={"lease": 0, "next": 0, "arm": arm},
    )


def _how(did: Counters) -> str:
    return (
        f"Rows inserted {did.inserted:,}, updated {did.updated:,} (HOT: {did.updated_hot:,}), "
        f"deleted {did.deleted:,}."
    )
