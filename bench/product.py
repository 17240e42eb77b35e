"""The product, set up and driven by its public functions and the tables that administrators write."""

from __future__ import annotations

from collections.abc import Callable

from bench.rounds import Contender
from bench.scale import Size
from bench.world import Database, World

__all__ = [
    "CYCLE",
    "FINISH_AND_NEXT",
    "LEASE_AND_RELEASE",
    "ask_lease",
    "build",
    "cycle",
    "done_in",
    "hands",
    "hold",
    "lease_and_release",
    "sized",
    "take_snapshot",
]

CHECKSUM = "xxh3_128:" + "0123456789abcdef" * 2

FINISH_AND_NEXT = "leases.finish_and_next(lease_id => :lease, range_id => :hand, headers => 100)"
# A client's first transaction asks what the lease of its number is; the variables stay for all that follow.
CYCLE = f"""
\\if :lease = 0
select lease_id as lease from bench.hands where arm = :arm and client = :client_id \\gset
select range_id as hand from leases.next_range(lease_id => :lease) \\gset
\\endif
select range_id as hand from {FINISH_AND_NEXT} \\gset
"""

LEASE_AND_RELEASE = """
\\if :node = 0
select leases.register_node(name => concat('node-', :client_id::text)) as node \\gset
\\endif
select lease_id as lease from leases.lease_group(node_id => :node, lane => 'history') \\gset
select leases.release_group(lease_id => :lease);
"""


def ask_lease(database: Database, node: str = "bench", lane: str = "history") -> tuple[int, int]:
    """Lease a group and return the lease's and the group's id."""
    found = database.run(
        "select lease_id, group_id from leases.lease_group(leases.register_node(name => %s), lane => %s)",
        node,
        lane,
    )
    if not found:
        raise RuntimeError("there is nothing to lease")
    lease_id, group_id = found[0]
    return lease_id, group_id


def hold(
    database: Database,
    arm: str,
    *,
    clients: int,
    ranges: int,
    snapshot: bool = True,
    priority: int = 50,
    history: int = 0,
    lane: str = "history",
    size: int = 1,
) -> list[int]:
    """Plan a group of so many ranges for each client and lease it for that client; return the groups.

    ``snapshot`` gives each lane a current snapshot, as it stands once its window was kept. ``history`` plans so
    many ranges below in the lane ``history``, where the lane is another.
    """
    hands(database)
    for client in range(clients):
        group_id = database.value("select leases.add_group(name => %s)", f"{arm}.{client}")
        if history:
            database.run(
                "select leases.plan_ranges(%s, 0, %s, priority => 50, size => 1)",
                *(group_id, history - 1),
            )
        first = history
        database.run(
            "select leases.plan_ranges(%s, %s, %s, priority => %s, size => %s)",
            *(group_id, first, first + ranges * size - 1, priority, size),
        )
        lease_id, leased = ask_lease(database, f"{arm}.{client}", lane)
        if leased != group_id:
            raise RuntimeError(f"{arm}: got group {leased}, not {group_id}")
        if snapshot:
            take_snapshot(database, lease_id, first)
        database.run(
            "insert into bench.hands values (%s, %s, %s, %s)", arm, client, lease_id, group_id
        )
    return [g for (g,) in database.run("select group_id from bench.hands where arm = %s", arm)]


def hands(database: Database) -> None:
    """Make the table that tells each client of a script which lease it holds."""
    database.run(
        """create schema if not exists bench;
        create table if not exists bench.hands (
            arm text, client integer, lease_id bigint, group_id bigint, primary key (arm, client))"""
    )


def take_snapshot(database: Database, lease_id: int, next_id: int) -> None:
    """Begin and commit a snapshot of the window standing there."""
    database.run(
        "select leases.commit_snapshot(%s, s.snapshot_id, 1000, %s) from leases.begin_snapshot(%s, %s) as s",
        *(lease_id, CHECKSUM, lease_id, next_id),
    )


def done_in(database: Database, arm: str) -> Callable[[], int]:
    """Return a count of the finished ranges in the groups of the arm, as ``leases.group_status`` has it."""
    return lambda: int(
        database.value(
            """select sum(s.ranges_done) from leases.group_status as s
            where s.group_id in (select group_id from bench.hands where arm = %s)""",
            arm,
        )
    )


def cycle(
    world: World, database: Database, name: str, arm: str, clients: int, script: str = CYCLE
) -> Contender:
    """Return the cycle on groups that `hold` prepared under that arm."""
    return Contender(
        name=name,
        database=database,
        script=script,
        done=done_in(database, arm),
        seconds=world.scale.seconds,
        clients=clients,
        variables={"lease": 0, "hand": 0, "arm": arm},
    )


def lease_and_release(
    world: World, database: Database, name: str, clients: int, seconds: int | None = None
) -> Contender:
    """Return lease + release; the work is counted by lease ids, of which each grant takes one."""
    return Contender(
        name=name,
        database=database,
        script=LEASE_AND_RELEASE,
        done=grants_made(database),
        seconds=seconds or world.scale.seconds,
        clients=clients,
        variables={"node": 0},
    )


def grants_made(database: Database) -> Callable[[], int]:
    """Return a count of grants: a lease of our own tells its id, and is not counted itself."""
    mine = 0

    def count() -> int:
        nonlocal mine
        lease_id, _ = ask_lease(database)
        database.run("select leases.release_group(lease_id => %s)", lease_id)
        mine += 1
        return lease_id - mine

    return count


def sized(world: World, size: Size) -> Database:
    """Return a database with so many groups and ranges, half of them done, shared by the figures of the run."""
    return world.database(f"product_{size.slug}", lambda database: build(database, size))


def build(database: Database, size: Size) -> None:
    """Fill a database with so many groups and ranges, half of them done."""
    database.run(
        "insert into leases.groups (name) select 'log.' || n from generate_series(1, %s) as n",
        size.groups,
    )
    fill(database, "leases.ranges", size)
    database.settle()
    lease_id, _ = ask_lease(database)  # whatever is to be added up at first is added up
    database.run("select leases.release_group(lease_id => %s)", lease_id)
    database.settle()


def fill(database: Database, table: str, size: Size, chunk: int = 200_000) -> None:
    """Insert the ranges, an equal number a group; the lower half of each group's are done."""
    each = size.ranges // size.groups
    columns = "group_id, start_id, end_id, priority, status, next_id"
    at_once = max(1, chunk // each)
    groups = [
        g for (g,) in database.run(f"select group_id from {table.split('.')[0]}.groups order by 1")
    ]
    for first in range(0, len(groups), at_once):
        database.run(
            f"""insert into {table} ({columns})
            select g.group_id, n * 1000, n * 1000 + 999, 50 + (g.group_id %% 5)::integer,
                case when n < %s then 'done' else 'planned' end,
                case when n < %s then n * 1000 + 1000 else n * 1000 end
            from unnest(%s::bigint[]) as g (group_id), generate_series(0::bigint, %s) as n""",
            *(each // 2, each // 2, groups[first : first + at_once], each - 1),
        )
