"""Rules H: holding a lease."""

from __future__ import annotations

import time

import psycopg
import pytest

from .helpers import (
    Background,
    abort,
    after_restore,
    beat,
    begin,
    commit,
    current,
    discard,
    end_lease,
    everything,
    fail,
    finish,
    finish_and_next,
    group_status,
    held,
    impatient,
    lease,
    next_range,
    node,
    open_transaction,
    planned,
    quietness,
    read,
    refused,
    reject,
    release,
    release_node,
    restart_group,
    setting,
    snapshot,
    status,
    take_over,
    value,
    wait_until_blocked,
)

# H1 -----------------------------------------------------------------------------------------------

CALLS = {
    "next_range": lambda c, z: next_range(c, z["lease"]),
    "heartbeat": lambda c, z: beat(c, z["lease"]),
    "heartbeat_next": lambda c, z: beat(c, z["lease"], 250),
    "finish_range": lambda c, z: finish(c, z["lease"], z["range"], 40),
    "finish_again": lambda c, z: finish(c, z["lease"], z["finished"], 40),
    "finish_and_next": lambda c, z: finish_and_next(c, z["lease"], z["range"], 40),
    "fail_range": lambda c, z: fail(c, z["lease"], z["range"]),
    "release_group": lambda c, z: release(c, z["lease"]),
    "begin_snapshot": lambda c, z: begin(c, z["lease"], 201),
    "commit_snapshot": lambda c, z: commit(c, z["lease"], z["pending"]),
    "commit_again": lambda c, z: commit(c, z["lease"], z["current"]),
    "abort_snapshot": lambda c, z: abort(c, z["lease"], z["pending"]),
    "reject_snapshot": lambda c, z: reject(c, z["lease"], z["current"]),
    "current_snapshot": lambda c, z: current(c, z["lease"]),
    "end_lease": lambda c, z: end_lease(c, z["lease"]),
}

ENDS = {
    "taken over": lambda db, z: take_over(db),
    "released": lambda db, z: release(db, z["lease"]),
    "node released": lambda db, z: release_node(db, z["node"]),
    "ended": lambda db, z: end_lease(db, z["lease"]),
    "snapshot discarded": lambda db, z: discard(db, z["group"]),
    "restarted": lambda db, z: restart_group(db, z["group"]),
    "restored": lambda db, z: after_restore(db),
}


def a_life(db):
    """A holder in the middle of it: a snapshot, one pending, a range finished since, one in hand."""
    g = planned(db, to=300)
    n1 = node(db)
    got = lease(db, n1)
    read(db, got)
    kept = snapshot(db, got, 101)
    finished = read(db, got)
    pending = begin(db, got, 201)
    handed = next_range(db, got)
    return {
        "group": g,
        "node": n1,
        "lease": got["lease_id"],
        "range": handed["range_id"],
        "finished": finished["range_id"],
        "current": kept,
        "pending": pending["snapshot_id"],
    }


@pytest.mark.parametrize("end", ENDS)
def test_h1_lease_is_lost_however_it_ended(db, end):
    zombie = a_life(db)
    ENDS[end](db, zombie)
    before = everything(db)
    for call in CALLS.values():
        with refused("LS001"):
            call(db, zombie)
    assert everything(db) == before


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
@pytest.mark.parametrize("end", ENDS)
def test_h1_zombies_transaction_that_began_before_the_end_is_refused(db, connect, end, isolation):
    zombie = a_life(db)
    late = {call: impatient(open_transaction(connect(), isolation)) for call in CALLS}
    ENDS[end](db, zombie)
    before = everything(db)
    for call, connection in late.items():
        with refused("LS001", "40001"):
            CALLS[call](connection, zombie)
            connection.execute("commit")
        connection.execute("rollback")
    assert everything(db) == before


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_h1_nor_when_the_log_it_sees_was_trimmed(db, connect, isolation):
    zombie = a_life(db)
    late = {call: impatient(open_transaction(connect(), isolation)) for call in CALLS}
    other = take_over(db)
    for _ in range(4):
        snapshot(db, other, next_range(db, other)["start_id"])
    before = everything(db)
    for call, connection in late.items():
        with refused("LS001", "40001"):
            CALLS[call](connection, zombie)
            connection.execute("commit")
        connection.execute("rollback")
    assert everything(db) == before


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
@pytest.mark.parametrize(
    "call", ["heartbeat", "finish_and_next", "commit_snapshot", "release_group"]
)
def test_h1_call_that_meets_a_takeover_waits_for_it_and_is_refused(db, connect, call, isolation):
    zombie = a_life(db)
    taker, late = connect(), connect()
    n2 = node(db, "n2")
    with quietness(db):
        taker.execute("begin")
        assert lease(taker, n2) is not None
        open_transaction(late, isolation)
        running = Background(lambda: CALLS[call](late, zombie))
        assert wait_until_blocked(db, late), "the call slipped past a takeover in progress"
        taker.execute("commit")
        with refused("LS001", "40001"):
            running.wait()
            late.execute("commit")
    late.execute("rollback")
    assert group_status(db, zombie["group"])["node_name"] == "n2"
    assert status(db, zombie["group"])[1:] == [(101, 101, "planned"), (201, 201, "planned")]


@pytest.mark.parametrize("call", ["heartbeat", "finish_range", "next_range"])
def test_h1_takeover_that_meets_a_holders_call_passes_on(db, connect, call):
    zombie = a_life(db)
    holder, taker = connect(), impatient(connect())
    n2 = node(db, "n2")
    with quietness(db):
        holder.execute("begin")
        CALLS[call](holder, zombie)
        assert lease(taker, n2) is None
        holder.execute("commit")
        setting(db, ttl="2 minutes")
        assert lease(taker, n2) is None
    assert group_status(db, zombie["group"])["lease_id"] == zombie["lease"]


@pytest.mark.parametrize("lease_id", [None, 0, -1, 10**12])
def test_h1_lease_that_never_was_is_lost(db, lease_id):
    zombie = a_life(db)
    before = everything(db)
    for call in CALLS.values():
        with refused("LS001"):
            call(db, {**zombie, "lease": lease_id})
    assert everything(db) == before


def test_h1_failing_a_check_rolls_nothing_else_of_the_callers_back_but_is_refused(db, connect):
    zombie = a_life(db)
    take_over(db)
    other = connect()
    other.execute("begin")
    other.execute("savepoint s")
    with refused("LS001"):
        beat(other, zombie["lease"])
    other.execute("rollback to savepoint s")
    assert value(other, "select 1") == 1
    other.execute("commit")


# H2 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    ["next_range", "heartbeat", "finish_range", "finish_and_next", "begin_snapshot", "fail_range"],
)
def test_h2_quiet_holder_that_nobody_took_over_is_heard_again(db, call):
    holder = a_life(db)
    n2 = node(db, "n2")
    with quietness(db):
        assert group_status(db, holder["group"])["quiet"] is True
        CALLS[call](db, holder)
        assert group_status(db, holder["group"])["quiet"] is False
        assert lease(db, n2) is None
    assert group_status(db, holder["group"])["lease_id"] == holder["lease"]


def test_h2_quiet_holder_keeps_what_it_has(db):
    holder = a_life(db)
    with quietness(db):
        assert next_range(db, holder["lease"])["range_id"] == holder["range"]
        commit(db, holder["lease"], holder["pending"])


# H3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        "next_range",
        "heartbeat",
        "heartbeat_next",
        "finish_range",
        "finish_again",
        "finish_and_next",
        "fail_range",
        "begin_snapshot",
        "commit_snapshot",
    ],
)
def test_h3_calls_of_the_holder_count_as_being_heard(db, call):
    holder = a_life(db)
    before = value(db, "select clock_timestamp()")
    assert group_status(db, holder["group"])["heard_at"] < before
    CALLS[call](db, holder)
    assert group_status(db, holder["group"])["heard_at"] >= before


def test_h3_looking_does_not_count_as_being_heard(db):
    holder = a_life(db)
    heard = group_status(db, holder["group"])["heard_at"]
    everything(db)
    assert group_status(db, holder["group"])["heard_at"] == heard


def test_h3_refused_call_does_not_count_as_being_heard(db):
    holder = a_life(db)
    heard = group_status(db, holder["group"])["heard_at"]
    with refused("22023"):
        beat(db, holder["lease"], 5)
    assert group_status(db, holder["group"])["heard_at"] == heard


# H4 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
@pytest.mark.parametrize(
    "call", ["heartbeat", "next_range", "finish_range", "begin_snapshot", "commit_snapshot"]
)
def test_h4_heard_is_the_clock_as_the_change_is_made(db, connect, call, isolation):
    holder = a_life(db)
    caller = open_transaction(connect(), isolation)
    time.sleep(0.15)
    before = value(db, "select clock_timestamp()")
    CALLS[call](caller, holder)
    caller.execute("commit")
    assert group_status(db, holder["group"])["heard_at"] >= before


def test_h4_heard_is_read_after_waiting_for_the_lane(db, connect):
    holder = a_life(db)
    blocker, waiting = connect(), connect()
    blocker.execute("begin")
    beat(blocker, holder["lease"])
    running = Background(lambda: beat(waiting, holder["lease"]))
    assert wait_until_blocked(db, waiting)
    time.sleep(0.1)
    let_go = value(db, "select clock_timestamp()")
    blocker.execute("rollback")
    running.wait()
    assert group_status(db, holder["group"])["heard_at"] >= let_go


def test_h4_leased_at_is_the_clock_as_the_lease_is_made(db, connect):
    g = planned(db)
    caller = open_transaction(connect())
    time.sleep(0.1)
    before = value(db, "select clock_timestamp()")
    lease(caller, node(caller))
    caller.execute("commit")
    assert group_status(db, g)["leased_at"] >= before
    assert group_status(db, g)["heard_at"] >= before


def test_h4_quietness_is_judged_by_the_clock_in_a_long_transaction(db, connect):
    holder = a_life(db)
    taker = open_transaction(connect())
    n2 = node(db, "n2")
    setting(db, ttl="0.2 seconds")
    beat(db, holder["lease"])
    time.sleep(0.3)
    assert lease(taker, n2) is not None  # quiet since this transaction began
    taker.execute("rollback")


# H5 -----------------------------------------------------------------------------------------------


def test_h5_node_that_leases_again_competes_like_any_other(db):
    a, b = planned(db, "a"), planned(db, "b")
    n1 = node(db)
    first, second = lease(db, n1), lease(db, n1)
    assert {first["group_id"], second["group_id"]} == {a, b}
    assert first["lease_id"] != second["lease_id"]
    assert lease(db, n1) is None
    beat(db, first)
    beat(db, second)


def test_h5_one_lease_cannot_act_on_the_others_range_or_snapshot(db):
    planned(db, "a")
    planned(db, "b")
    n1 = node(db)
    first, second = lease(db, n1), lease(db, n1)
    own, others = next_range(db, first), next_range(db, second)
    begun = begin(db, second, 50)
    before = everything(db)
    with refused("LS002"):
        finish(db, first, others)
    with refused("LS002"):
        finish_and_next(db, first, others)
    with refused("LS002"):
        fail(db, first, others)
    with refused("LS003"):
        commit(db, first, begun)
    with refused("LS003"):
        abort(db, first, begun)
    assert everything(db) == before
    finish(db, first, own)
    commit(db, second, begun)
    with refused("LS003"):
        reject(db, first, begun)


def test_h5_own_quiet_lease_is_taken_over_with_a_new_lease_id(db):
    g = planned(db, to=100)
    n1 = node(db)
    first = lease(db, n1)
    handed = next_range(db, first)
    with quietness(db):
        second = lease(db, n1)
    assert second["group_id"] == g
    assert second["lease_id"] > first["lease_id"]
    with refused("LS001"):
        finish(db, first, handed)


def test_h5_release_node_gives_all_of_a_nodes_leases_back(db):
    for name in "abc":
        planned(db, name)
    n1, n2 = node(db, "n1"), node(db, "n2")
    first, second, others = lease(db, n1), lease(db, n1), lease(db, n2)
    handed = next_range(db, first)
    assert release_node(db, n1) == 2
    assert release_node(db, n1) == 0
    for gone in (first, second):
        with refused("LS001"):
            beat(db, gone)
    beat(db, others)
    assert status(db, first["group_id"])[0] == (1, 1, "planned")
    assert handed["start_id"] == 1


def test_h5_release_node_covers_both_lanes(db):
    g = planned(db)
    db.execute(
        """select leases.plan_ranges(group_id => %s, start_id => 1001, end_id => 1100,
                                     priority => 5)""",
        (g,),
    )
    n1 = node(db)
    assert lease(db, n1, "tail")
    assert lease(db, n1, "history")
    assert release_node(db, n1) == 2


def test_h_release_node_does_not_count_leases_that_were_taken_over(db):
    planned(db, to=100)
    first = held(db)
    next_range(db, first)
    second = take_over(db)
    assert release_node(db, node(db, "n1")) == 0
    beat(db, second)


def test_h_register_node_gives_the_same_id_for_the_same_name(db, connect):
    first = node(db, "indexer-1")
    assert node(db, "indexer-1") == first
    assert node(db, "indexer-2") != first
    other = connect()
    other.execute("begin")
    fresh = node(other, "indexer-3")
    third = connect()
    running = Background(lambda: node(third, "indexer-3"))
    time.sleep(0.1)
    other.execute("commit")
    assert running.wait() == fresh


def test_h_errors_are_of_the_database_not_of_the_client(db):
    zombie = a_life(db)
    release(db, zombie["lease"])
    with pytest.raises(psycopg.DatabaseError):
        beat(db, zombie["lease"])
