"""What a worker can do to another's node, lease, snapshot and range: nothing. To a lane: take its turn."""

from __future__ import annotations

import threading
import time

import pytest

from tests.sql.helpers import (
    abort,
    beat,
    begin,
    commit,
    current,
    everything,
    fail,
    finish,
    finish_and_next,
    forget,
    held,
    lane_status,
    lease,
    next_range,
    node,
    planned,
    read,
    refused,
    reject,
    release,
    release_node,
    rows,
    setting,
    snapshot,
    stale,
)

WITH_A_LEASE = {
    "next_range": lambda c, at: next_range(c, at["lease"]),
    "heartbeat": lambda c, at: beat(c, at["lease"]),
    "heartbeat with a resume point": lambda c, at: beat(c, at["lease"], 150),
    "finish_range": lambda c, at: finish(c, at["lease"], at["range"]),
    "finish_and_next": lambda c, at: finish_and_next(c, at["lease"], at["range"]),
    "fail_range": lambda c, at: fail(c, at["lease"], at["range"]),
    "begin_snapshot": lambda c, at: begin(c, at["lease"], 120),
    "commit_snapshot": lambda c, at: commit(c, at["lease"], at["pending"]),
    "abort_snapshot": lambda c, at: abort(c, at["lease"], at["pending"]),
    "reject_snapshot": lambda c, at: reject(c, at["lease"], at["current"]),
    "current_snapshot": lambda c, at: current(c, at["lease"]),
    "release_group": lambda c, at: release(c, at["lease"]),
}
OF_THE_NODE = {
    "register_node": lambda c, at: node(c, "n1"),
    "lease_group": lambda c, at: lease(c, at["lease"]["node_id"]),
    "release_node": lambda c, at: release_node(c, at["lease"]["node_id"]),
}


@pytest.fixture
def at(db, log_in):
    """Give what a worker of another role has: a lease, a range in hand, a current and a pending snapshot."""
    planned(db)
    planned(db, "other")
    victim = log_in("worker")
    got = held(victim)
    read(victim, got)
    kept = snapshot(victim, got, 101)
    hand = next_range(victim, got)
    return {
        "lease": {**got, "node_id": node(victim)},
        "range": hand,
        "current": kept,
        "pending": begin(victim, got, 110),
        "connection": victim,
    }


@pytest.mark.parametrize("call", [*WITH_A_LEASE, *OF_THE_NODE])
@pytest.mark.parametrize("of", ["worker", "planner", "monitor", "worker and more"])
def test_anothers_node_and_lease(db, log_in, at, call, of):
    evil = log_in(*(("worker", "planner", "monitor") if of == "worker and more" else (of,)))
    before = everything(db)
    with refused("42501"):
        (WITH_A_LEASE | OF_THE_NODE)[call](evil, at)
    assert everything(db) == before
    commit(at["connection"], at["lease"], at["pending"])
    finish(at["connection"], at["lease"], at["range"])


@pytest.mark.parametrize("call", WITH_A_LEASE)
def test_ones_own_lost_lease(db, log_in, at, call):
    """A node that was taken over by another role's is told lease_lost, and changes nothing."""
    thief = log_in("worker")
    number = node(thief, "n2")
    db.execute("update leases.groups set active = group_id = %s", (at["lease"]["group_id"],))
    setting(db, ttl="1 millisecond")
    time.sleep(0.01)
    taken = lease(thief, number)
    setting(db, ttl="2 minutes")
    before = everything(db)
    with refused("LS001"):
        WITH_A_LEASE[call](at["connection"], at)
    assert everything(db) == before
    assert next_range(thief, taken)["start_id"] == 101


@pytest.mark.parametrize("call", WITH_A_LEASE)
@pytest.mark.parametrize("number", [None, 0, -1, 2**63 - 1])
def test_lease_that_never_was(db, log_in, at, call, number):
    before = everything(db)
    with refused("LS001"):
        WITH_A_LEASE[call](log_in("worker"), at | {"lease": number})
    assert everything(db) == before


def test_anothers_snapshot_and_range_under_ones_own_lease(db, log_in, at):
    evil = log_in("worker")
    mine = held(evil, "mine")
    next_range(evil, mine)
    before = everything(db)
    for call in (
        lambda: commit(evil, mine, at["pending"]),
        lambda: abort(evil, mine, at["pending"]),
        lambda: reject(evil, mine, at["current"]),
    ):
        with refused("LS003"):
            call()
    for call in (
        lambda: finish(evil, mine, at["range"]),
        lambda: fail(evil, mine, at["range"]),
        lambda: finish_and_next(evil, mine, at["range"]),
    ):
        with refused("LS002"):
            call()
    assert everything(db) == before


def test_sweeping_is_anybodys_but_spares_what_is_needed(db, log_in, at):
    """A worker that forgets stale snapshots leaves their files to the day-old rule, and no more."""
    evil = log_in("worker")
    forget(evil, at["current"], at["pending"]["snapshot_id"], 999)
    assert current(at["connection"], at["lease"])["snapshot_id"] == at["current"]
    commit(at["connection"], at["lease"], at["pending"])
    next_range(at["connection"], at["lease"])
    third = snapshot(at["connection"], at["lease"], 120)
    assert list(stale(evil)) == [at["current"]]
    forget(evil, at["current"])
    assert stale(evil) == {}
    assert rows(evil, "select * from leases.unknown_snapshots(files => array['1-history-1-00.gz'])")
    assert current(at["connection"], at["lease"])["snapshot_id"] == third


def test_open_transaction_of_a_worker_makes_nobody_wait_but_its_own_lane(db, log_in, at):
    evil, other = log_in("worker"), log_in("worker")
    other.execute("set statement_timeout = '3s'")
    evil.execute("begin")
    mine = held(evil, "mine")
    next_range(evil, mine)
    assert lease(other, node(other, "n3")) is None
    next_range(at["connection"], at["lease"])
    commit(at["connection"], at["lease"], at["pending"])
    evil.execute("rollback")
    assert lease(other, node(other, "n3")) is not None


def test_advisory_locks_of_a_stranger_keep_nobody_from_leasing(db, log_in):
    """The turn is the worst that can be moved (C4)."""
    for name in ("a", "b"):
        planned(db, name)
    stranger = log_in()
    for n in range(1, 64):
        stranger.execute("select pg_advisory_lock(hashtext('leases turn history'), %s)", (n,))
    worker = log_in("worker")
    worker.execute("set statement_timeout = '3s'")
    assert {held(worker, n)["group_name"] for n in ("n1", "n2")} == {"a", "b"}


def test_two_roles_register_one_name_at_once(db, log_in):
    """One gets it, the other is told whose it is."""
    racers = [log_in("worker") for _ in range(2)]
    for round_ in range(20):
        barrier, outcomes = threading.Barrier(2), []

        def register(connection, name=f"n{round_}", barrier=barrier, outcomes=outcomes):
            barrier.wait()
            try:
                outcomes.append(node(connection, name))
            except Exception as error:
                outcomes.append(error.sqlstate)

        threads = [threading.Thread(target=register, args=(c,)) for c in racers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert "42501" in outcomes
        assert len([o for o in outcomes if isinstance(o, int)]) == 1
    assert lane_status(db)["groups_held"] == 0
