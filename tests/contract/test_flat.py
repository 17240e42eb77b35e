"""Cost must not grow with the work: the buffers that calls touch, at two sizes ten times apart.

Buffers are counted and not time, so a busy machine changes nothing. The figures in docs/figures.md are the time.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

import psycopg
import pytest

from tests.sql import helpers as h

GROUPS = 300
RANGES = 10  # a group; the lower half of them done
TIMES = 10
GROWTH = 1.25
QUIET_GROWTH = 1.35  # most of that call is going down indexes, and one may be a level higher
NODE = "n1"

Counts = dict[str, float]


def touched(db: psycopg.Connection[Any], call: str, *args: object) -> tuple[int, dict[str, Any]]:
    """Make a call; return how many buffers it touched, and its row."""
    # EXPLAIN gives the plan and not the row, so that is kept in a setting.
    explain = (
        "explain (analyze, buffers, format json) "
        f"select set_config('test.got', to_jsonb(c)::text, false) from ({call}) as c"
    )
    h.value(db, "select set_config('test.got', '{}', false)")
    plan = h.value(db, explain, *args)[0]["Plan"]
    got = json.loads(h.value(db, "select current_setting('test.got')"))
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], got


def build(db: psycopg.Connection[Any], first: int, last: int, *, vacuum: bool = True) -> None:
    """Add groups first..last with their ranges."""
    db.execute(
        "insert into leases.groups (name) select 'log.' || n from generate_series(%s::int, %s) as n",
        (first, last),
    )
    db.execute(
        """insert into leases.ranges (group_id, start_id, end_id, priority, status)
        select g.group_id, n * 100, n * 100 + 99, 50 + g.group_id %% 5,
            case when n < %s then 'done' else 'planned' end
        from leases.groups as g, generate_series(0::bigint, %s) as n
        where g.group_id between %s and %s order by g.group_id, n""",
        (RANGES // 2, RANGES - 1, first, last),
    )
    # As autovacuum does some time; without, the count would be of what it has not got to.
    if vacuum:
        db.execute("vacuum")
    h.release(db, h.held(db, NODE))  # adds up what was planned
    if vacuum:
        db.execute("vacuum leases.notes")  # all of them are dead now


def life(db: psycopg.Connection[Any], node_id: int, *, snapshot: bool) -> dict[str, int]:
    """Lease, read and give back; return the buffers that each call touched."""
    counts = {}
    counts["lease_group"], lease = touched(
        db, "select lease_id from leases.lease_group(node_id => %s)", node_id
    )
    lease_id = lease["lease_id"]
    counts["next_range"], hand = touched(
        db, "select range_id, next_id from leases.next_range(lease_id => %s)", lease_id
    )
    if snapshot:
        h.snapshot(db, lease_id, hand["next_id"])
    counts["heartbeat"], _ = touched(
        db,
        "select 1 as n from leases.heartbeat(lease_id => %s, next_id => %s)",
        lease_id,
        hand["next_id"] + 10,
    )
    counts["finish_and_next"], _ = touched(
        db,
        "select range_id from leases.finish_and_next(lease_id => %s, range_id => %s)",
        lease_id,
        hand["range_id"],
    )
    counts["release_group"], _ = touched(
        db, "select 1 as n from leases.release_group(lease_id => %s)", lease_id
    )
    counts["lease_group, one holder being quiet"] = looked_up(db, node_id)
    counts["a sum over ranges"], _ = touched(
        db, "select count(*) as n from leases.ranges as r where r.status = 'planned'"
    )
    return counts


def looked_up(db: psycopg.Connection[Any], node_id: int) -> int:
    """Let a holder with a range in hand go quiet; return what the next lease touches, which looks at that lane."""
    h.next_range(db, h.lease(db, node_id))
    h.setting(db, ttl="0.001 seconds")
    time.sleep(0.01)
    buffers, _ = touched(db, "select lease_id from leases.lease_group(node_id => %s)", node_id)
    h.setting(db, ttl="2 minutes")
    h.release_node(db, node_id)
    return buffers


def counted(db: psycopg.Connection[Any], *, snapshot: bool) -> Counts:
    """Return the median of the buffers of each call, once the session's caches are warm."""
    node_id = h.node(db, NODE)
    lives = [life(db, node_id, snapshot=snapshot) for _ in range(2 * TIMES)][TIMES:]
    return {call: statistics.median(c[call] for c in lives) for call in lives[0]}


def test_a_lease_touches_as_many_buffers_without_any_statistics(
    db: psycopg.Connection[Any],
) -> None:
    # As before the first autovacuum: whatever is planned by guesses must be planned by the indexes all the same.
    for found in h.rows(db, "select tablename from pg_tables where schemaname = 'leases'"):
        db.execute(f"alter table leases.{found['tablename']} set (autovacuum_enabled = off)")
    build(db, 1, 1000, vacuum=False)
    assert counted(db, snapshot=True)["lease_group"] < 300


@pytest.mark.parametrize("snapshot", [False, True], ids=["bare", "with a snapshot"])
def test_calls_touch_as_many_buffers_with_ten_times_the_work(
    db: psycopg.Connection[Any], snapshot: bool
) -> None:
    build(db, 1, GROUPS)
    small = counted(db, snapshot=snapshot)
    build(db, GROUPS + 1, 10 * GROUPS)
    large = counted(db, snapshot=snapshot)
    grown = {call: large[call] / small[call] for call in small}
    assert grown.pop("a sum over ranges") > 2, "the counting itself sees no growth"
    quiet = grown.pop("lease_group, one holder being quiet")
    assert quiet <= QUIET_GROWTH, f"{small} became {large}"
    assert all(growth <= GROWTH for growth in grown.values()), f"{small} became {large}: {grown}"


CALLS = {
    "plan_ranges": "select leases.plan_ranges(%s, %s, %s, priority => 50, size => 1) as articles",
    "INSERT": "select public.insert_ranges(%s, %s, %s) as articles",
}
# An administrator's own INSERT, in a function: its triggers are then counted as well.
INSERT_RANGES = """
create function public.insert_ranges(_group_id bigint, _first bigint, _last bigint) returns bigint
language sql as $$
    insert into leases.ranges (group_id, start_id, end_id, priority, status)
    select _group_id, n, n, 50, 'planned' from generate_series(_first, _last) as n;
    select _last - _first + 1;
$$
"""


@pytest.mark.parametrize("statistics_of", ["nothing", "an empty table"])
@pytest.mark.parametrize("call", CALLS)
def test_planning_more_touches_as_many_buffers_above_ten_times_the_ranges(
    db: psycopg.Connection[Any], call: str, statistics_of: str
) -> None:
    db.execute(INSERT_RANGES)
    db.execute("alter table leases.ranges set (autovacuum_enabled = off)")
    if statistics_of == "an empty table":
        db.execute("vacuum (analyze) leases.ranges")
    group_id = h.group(db)

    def median(first: int) -> float:
        calls = [
            touched(db, CALLS[call], group_id, n, n + 9) for n in range(first, first + 200, 10)
        ]
        assert all(got["articles"] == 10 for _, got in calls)
        return statistics.median(buffers for buffers, _ in calls[TIMES:])

    h.plan(db, group_id, 0, 2_999, size=1)
    small = median(3_000)
    h.plan(db, group_id, 3_200, 29_999, size=1)
    large = median(30_000)
    assert large / small <= GROWTH, f"{small} became {large}"
