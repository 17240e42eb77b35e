"""Rules O: restores, isolation levels, time zones, poolers, roles."""

from __future__ import annotations

import secrets
import time

import pytest

from .helpers import (
    after_restore,
    allowing,
    at,
    beat,
    begin,
    commit,
    current,
    end_lease,
    fail,
    finish,
    finish_and_next,
    forget,
    group,
    group_status,
    held,
    lane_status,
    lease,
    next_range,
    node,
    open_transaction,
    plan,
    planned,
    quietness,
    read,
    refused,
    reject,
    release,
    release_node,
    restart_group,
    row,
    rows,
    setting,
    snapshot,
    stale,
    status,
    value,
    why,
)

# O1 -----------------------------------------------------------------------------------------------


def test_o1_after_restore_ends_every_lease(db):
    a, b = planned(db, "a"), planned(db, "b")
    plan(db, a, 1001, 1100, priority=5)
    leases = [held(db, "n1"), held(db, "n2"), held(db, "n1", "tail")]
    after_restore(db)
    for got in leases:
        with refused("LS001"):
            beat(db, got)
        with refused("LS001"):
            next_range(db, got)
    assert lane_status(db)["groups_held"] == lane_status(db, "tail")["groups_held"] == 0
    assert {held(db)["group_id"], held(db)["group_id"]} == {a, b}


def test_o1_new_ids_start_far_above(db):
    planned(db)
    got = held(db)
    kept = snapshot(db, got, 1)
    after_restore(db)
    again = held(db)
    assert again["lease_id"] > got["lease_id"] + 1_000_000
    assert begin(db, again, 1)["snapshot_id"] > kept + 1_000_000


def test_o1_may_be_called_twice(db):
    planned(db)
    ids = []
    for _ in range(3):
        ids.append(held(db)["lease_id"])
        after_restore(db)
    assert ids == sorted(set(ids))


def test_o1_settles_every_lane(db):
    g = planned(db)
    got = held(db)
    read(db, got, headers=1)
    kept = snapshot(db, got, 101)
    read(db, got, headers=10)
    next_range(db, got)
    pending = begin(db, got, 230)
    after_restore(db)
    assert status(db, g) == [(1, 101, "done"), (101, 101, "planned"), (201, 201, "planned")]
    assert group_status(db, g)["headers"] == 1
    again = held(db)
    assert again["snapshot_id"] == kept
    assert set(stale(db)) == {pending["snapshot_id"]}


# O3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_o3_a_whole_life_at_any_isolation_level(db, connect, isolation):
    worker = connect()
    worker.execute("select set_config('default_transaction_isolation', %s, false)", (isolation,))
    g = planned(worker, to=300)
    got = held(worker)
    first = next_range(worker, got)
    beat(worker, got, 50)
    second = finish_and_next(worker, got, first, 10)
    commit(worker, got, begin(worker, got, 150))
    fail(worker, got, second)
    third = next_range(worker, got)
    finish(worker, got, third, 20)
    release(worker, got)
    assert status(worker, g) == [(1, 101, "done"), (101, 150, "planned"), (201, 201, "planned")]
    got = held(worker)
    assert next_range(worker, got)["next_id"] == 150
    assert reject(worker, got, got["snapshot_id"]) is None
    end_lease(worker, got)
    assert why(worker) == []
    assert release_node(worker, node(worker)) == 0


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("call", ["beat", "finish", "next", "finish_and_next", "fail", "release"])
def test_o3_holders_call_with_an_old_snapshot_works_or_is_a_serialization_failure(
    db, connect, call, isolation
):
    g = planned(db, to=400)
    got = held(db)
    handed = read(db, got)
    handed = next_range(db, got)
    late = open_transaction(connect(), isolation)
    beat(db, got, 150)  # the same holder, on another connection

    def attempt(c):
        return {
            "beat": lambda: beat(c, got, 160),
            "finish": lambda: finish(c, got, handed, 5),
            "next": lambda: next_range(c, got),
            "finish_and_next": lambda: finish_and_next(c, got, handed, 5),
            "fail": lambda: fail(c, got, handed),
            "release": lambda: release(c, got),
        }[call]()

    with allowing("40001") as failures:
        attempt(late)
        late.execute("commit")
    if failures:
        late.execute("rollback")
        assert (at(db, g, 101)["next_id"], at(db, g, 101)["status"]) == (150, "leased")
        attempt(db)
    shown = at(db, g, 101)
    want = {
        "beat": (160, "leased"),
        "finish": (201, "done"),
        "next": (150, "leased"),
        "finish_and_next": (201, "done"),
        "fail": (150, "planned"),
        "release": (150, "planned"),
    }
    assert (shown["next_id"], shown["status"]) == want[call]
    assert shown["attempts"] == 1


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_o3_old_snapshot_does_not_hand_the_next_range_out_twice(db, connect, isolation):
    g = planned(db, to=300)
    got = held(db)
    first = next_range(db, got)
    late = open_transaction(connect(), isolation)
    second = finish_and_next(db, got, first)
    beat(db, got, 150)
    with allowing("40001") as failures:
        again = finish_and_next(late, got, first)
        late.execute("commit")
        assert again["range_id"] == second["range_id"]
    if failures:
        late.execute("rollback")
    assert status(db, g) == [(1, 101, "done"), (101, 150, "leased"), (201, 201, "planned")]
    assert at(db, g, 101)["attempts"] == 1
    assert next_range(db, got)["next_id"] == 150


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati"])
def test_o3_session_time_zone_does_not_matter(db, connect, zone):
    g = planned(db, to=100)
    setting(db, ttl="36 hours")
    worker = connect()
    worker.execute("select set_config('timezone', %s, false)", (zone,))
    got = held(worker)
    next_range(worker, got)
    other = connect()
    other.execute("set timezone = 'UTC'")
    assert lease(other, node(other, "n2")) is None
    assert group_status(worker, g)["heard_at"] == group_status(other, g)["heard_at"]
    with quietness(db):
        assert lease(other, node(other, "n2")) is not None


def test_o3_odd_session_settings(db, connect):
    g = planned(db)
    worker = connect()
    for change in (
        "search_path = ''",
        "standard_conforming_strings = on",
        "enable_indexscan = off",
        "enable_bitmapscan = off",
        "enable_hashjoin = off",
        "plan_cache_mode = force_generic_plan",
        "jit = off",
    ):
        worker.execute(f"set {change}")
    got = held(worker)
    assert [read(worker, got)["start_id"] for _ in range(3)] == [1, 101, 201]
    snapshot(worker, got, 301)
    release(worker, got)
    assert {s for _, _, s in status(worker, g)} == {"done"}


def test_o3_every_call_on_another_connection(db, connect):
    """A transaction-mode pooler: no call relies on what an earlier one left in its session."""
    g = planned(db, to=300)
    pool = [connect() for _ in range(3)]
    turn = iter(range(1000))

    def c():
        return pool[next(turn) % 3]

    n1 = node(c())
    got = lease(c(), n1)
    handed = next_range(c(), got)
    while handed:
        beat(c(), got, handed["start_id"] + 10)
        begun = begin(c(), got, handed["start_id"] + 20)
        commit(c(), got, begun)
        assert current(c(), got)["snapshot_id"] == begun["snapshot_id"]
        handed = finish_and_next(c(), got, handed, 1)
    snapshot(c(), got, 301)
    forget(c(), *stale(c()))
    assert release_node(c(), n1) == 1
    assert {s for _, _, s in status(c(), g)} == {"done"}
    locks = value(db, "select count(*) as n from pg_locks where locktype = 'advisory'")
    assert locks == 0


def test_o3_autocommit_off_and_savepoints(db, connect):
    planned(db)
    worker = connect(autocommit=False)
    got = held(worker)
    with worker.transaction():
        handed = next_range(worker, got)
    worker.rollback()
    assert lane_status(db)["groups_held"] == 0
    with refused("LS001"):
        next_range(db, got)
    assert handed["start_id"] == 1


# restart_group and the like -----------------------------------------------------------------------


def test_o_restart_group_begins_anew(db):
    g = planned(db, to=300)
    plan(db, g, 1001, 1100, priority=5)
    other = planned(db, "other", priority=90)
    history, tail = held(db, "n1"), held(db, "n2", "tail")
    read(db, history, headers=5)
    kept = snapshot(db, history, 101)
    pending = begin(db, history, 101)
    restart_group(db, g)
    for got in (history, tail):
        with refused("LS001"):
            beat(db, got)
    assert status(db, g) == []
    assert set(stale(db)) == {kept, pending["snapshot_id"]}
    assert len(status(db, other)) == 3
    assert plan(db, g, 1, 100) == 100
    again = held(db)
    assert (again["group_id"], again["snapshot_id"]) == (g, None)
    assert next_range(db, again)["attempts"] == 1
    shown = group_status(db, g)
    assert (shown["ranges_done"], shown["headers"], shown["snapshot_id"]) == (0, 0, None)


def test_o_restarted_groups_old_snapshots_never_come_back(db):
    g = planned(db, to=100)
    got = held(db)
    read(db, got)
    old = snapshot(db, got, 101)
    restart_group(db, g)
    plan(db, g, 1, 100)
    got = held(db)
    assert current(db, got) is None
    new = snapshot(db, got, 1)
    assert reject(db, got, new) is None
    assert old in stale(db)


def test_o_end_lease_is_as_a_takeover(db):
    g = planned(db)
    got = held(db)
    read(db, got)
    next_range(db, got)
    beat(db, got, 150)
    end_lease(db, got)
    assert status(db, g)[1] == (101, 150, "planned")
    assert group_status(db, g)["lease_id"] is None
    assert held(db, "n2")["group_id"] == g


# roles --------------------------------------------------------------------------------------------


@pytest.fixture
def roles(db):
    """Give two workers, a planner, a monitor and an administrator, each a role of its own."""
    tag = secrets.token_hex(4)
    made = {}
    for who, of in (
        ("w1", "worker"),
        ("w2", "worker"),
        ("planner", "planner"),
        ("monitor", "monitor"),
        ("admin", "admin"),
    ):
        made[who] = f"test_{who}_{tag}"
        db.execute(f"create role {made[who]} in role leases_{of}")
    yield made
    for name in made.values():
        db.execute(f"drop owned by {name}")
        db.execute(f"drop role {name}")


def as_role(connect, name):
    c = connect()
    c.execute(f"set role {name}")
    return c


def test_o_node_belongs_to_the_role_that_registered_it(db, connect, roles):
    planned(db)
    w1, w2 = as_role(connect, roles["w1"]), as_role(connect, roles["w2"])
    n1 = node(w1)
    with refused("42501"):
        node(w2)
    with refused("42501"):
        lease(w2, n1)
    got = lease(w1, n1)
    handed = next_range(w1, got)
    begun = begin(w1, got, 50)
    for call in (
        lambda: next_range(w2, got),
        lambda: beat(w2, got),
        lambda: finish(w2, got, handed),
        lambda: finish_and_next(w2, got, handed),
        lambda: fail(w2, got, handed),
        lambda: begin(w2, got, 50),
        lambda: commit(w2, got, begun),
        lambda: reject(w2, got, begun),
        lambda: current(w2, got),
        lambda: release(w2, got),
        lambda: release_node(w2, n1),
    ):
        with refused("42501"):
            call()
    commit(w1, got, begun)
    finish(w1, got, handed)
    admin = as_role(connect, roles["admin"])
    release(admin, got)
    assert lane_status(db)["groups_held"] == 0


def test_o_workers_role_sees_and_changes_nothing_else(connect, roles, db):
    g = planned(db)
    w1 = as_role(connect, roles["w1"])
    tables = rows(
        db,
        """select c.relname from pg_class as c
           where c.relnamespace = 'leases'::regnamespace and c.relkind in ('r', 'v', 'S')""",
    )
    assert len(tables) > 5
    for t in tables:
        with refused("42501"):
            w1.execute(f"select * from leases.{t['relname']}")
    for call in (
        lambda: plan(w1, g, 1001, 1100),
        lambda: group(w1, "mine"),
        lambda: end_lease(w1, 1),
        lambda: after_restore(w1),
        lambda: restart_group(w1, g),
        lambda: why(w1),
    ):
        with refused("42501"):
            call()


def test_o_planner_monitor_and_admin_do_their_work(connect, roles, db):
    planner, monitor, admin, w1 = (
        as_role(connect, roles[who]) for who in ("planner", "monitor", "admin", "w1")
    )
    g = planned(planner)
    got = held(w1)
    read(w1, got)
    assert group_status(monitor, g)["ranges_done"] == 1
    assert lane_status(monitor)["groups_held"] == 1
    assert status(monitor, g)[0] == (1, 101, "done")
    assert why(monitor, "tail") != []
    with refused("42501"):
        plan(monitor, g, 301, 400)
    with refused("42501"):
        held(planner)
    admin.execute("update leases.lanes set ttl = '1 minute'")
    admin.execute("update leases.groups set priority = 5 where group_id = %s", (g,))
    admin.execute(
        """insert into leases.ranges (group_id, start_id, end_id, next_id, priority, status)
           values (%s, 1001, 1100, 1001, 50, 'planned')""",
        (g,),
    )
    admin.execute("delete from leases.ranges where group_id = %s and start_id = 301", (g,))
    end_lease(admin, got)
    assert group_status(admin, g)["articles_offered"] == 300


def test_c26_hostile_search_path_and_temporary_tables(connect, roles, db):
    g = planned(db, "'; drop table leases.groups;--")
    w1 = as_role(connect, roles["w1"])
    for table in (
        "ranges",
        "groups",
        "lanes",
        "progress",
        "grants",
        "nodes",
        "snapshots",
        "choices",
    ):
        w1.execute(f"create temporary table {table} (x int)")
    for function in (
        "now() returns timestamptz language sql as 'select null::timestamptz'",
        "clock_timestamp() returns timestamptz language sql as 'select null::timestamptz'",
        "coalesce_(bigint) returns bigint language sql as 'select 0::bigint'",
    ):
        w1.execute(f"create function pg_temp.{function}")
    w1.execute("set search_path = pg_temp, leases, public")
    got = held(w1)
    assert got["group_name"] == "'; drop table leases.groups;--"
    assert [read(w1, got)["start_id"] for _ in range(3)] == [1, 101, 201]
    snapshot(w1, got, 301)
    release(w1, got)
    assert {s for _, _, s in status(db, g)} == {"done"}
    assert group_status(db, g)["heard_at"] is not None


def test_o_ttl_of_days_is_compared_in_seconds(db):
    planned(db)
    setting(db, ttl="1 day")
    got = held(db)
    assert got["ttl"].total_seconds() == 86400
    time.sleep(0.05)
    assert lease(db, node(db, "n2")) is None
    assert row(db, "select ttl from leases.lanes where lane = 'history'") is not None
