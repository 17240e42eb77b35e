"""How systems like this broke for others: scenarios made from public bug reports."""

from __future__ import annotations

import random
import threading
import time

import psycopg
import pytest

from .helpers import (
    Background,
    at,
    beat,
    begin,
    commit,
    current,
    end_lease,
    everything,
    fail,
    finish,
    finish_and_next,
    group,
    group_status,
    held,
    insert_range,
    lease,
    next_range,
    node,
    open_transaction,
    plan,
    planned,
    quietness,
    ranges,
    read,
    refused,
    reject,
    release,
    restart_group,
    rows,
    setting,
    snapshot,
    stale,
    status,
    take_over,
    value,
    why,
)


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
@pytest.mark.parametrize("when", ["before the taker finishes", "after the taker finished"])
def test_c01_the_old_holder_wakes_after_a_takeover(db, connect, when, isolation):
    g = planned(db, to=200)
    old = held(db, "n1")
    handed = next_range(db, old)
    upload = begin(db, old, 50)
    sleepers = [open_transaction(connect(), isolation) for _ in range(5)]
    new = take_over(db, "n2")
    assert next_range(db, new)["range_id"] == handed["range_id"]
    if when == "after the taker finished":
        finish(db, new, handed, 40)
    before = everything(db)
    calls = [
        lambda c: finish(c, old, handed, 40),
        lambda c: next_range(c, old),
        lambda c: beat(c, old),
        lambda c: release(c, old),
        lambda c: commit(c, old, upload),
    ]
    for sleeper, call in zip(sleepers, calls, strict=True):
        with refused("LS001", "40001"):
            call(sleeper)
            sleeper.execute("commit")
        sleeper.execute("rollback")
    assert everything(db) == before
    finish(db, new, handed, 40)
    assert group_status(db, g)["headers"] == 40
    assert group_status(db, g)["node_name"] == "n2"


def test_c02_reset_after_a_rescue_takes_back_the_counts(db):
    g = planned(db, to=300)
    old = held(db, "n1")
    read(db, old, headers=90)
    snapshot(db, old, 101)
    read(db, old, headers=70)
    next_range(db, old)
    new = take_over(db, "n2")
    assert group_status(db, g)["headers"] == 90
    read(db, new, headers=70)
    read(db, new, headers=65)
    assert group_status(db, g)["headers"] == 225
    assert group_status(db, g)["ranges_done"] == 3


def test_c02_range_straddling_the_snapshot_is_never_half_counted(db):
    g = group(db)
    insert_range(db, g, 151, 250)
    old = held(db)
    handed = next_range(db, old)
    snapshot(db, old, 201)
    finish(db, old, handed, 70)
    new = take_over(db)
    assert status(db, g) == [(151, 201, "planned")]
    assert group_status(db, g)["headers"] == 0
    read(db, new, headers=30)
    assert group_status(db, g)["headers"] == 30


def test_c04_same_node_name_new_process(db):
    planned(db, "a", to=100)
    planned(db, "b", to=100)
    first = held(db, "n1")
    handed = next_range(db, first)
    with quietness(db):
        second = held(db, "n1")  # the restarted process, under the same name
        next_range(db, second)
        third = held(db, "n1")
        next_range(db, third)
    assert second["lease_id"] > first["lease_id"]
    assert {second["group_id"], third["group_id"]} >= {first["group_id"]}
    with refused("LS001"):
        finish(db, first, handed, 40)


@pytest.mark.parametrize("left", ["in hand", "done uncovered"])
def test_c06_an_expired_lease_nobody_looks_at(db, left):
    for name in "abc":
        planned(db, name, to=300)
    dead = held(db, "n1")
    read(db, dead)
    snapshot(db, dead, 101)
    read(db, dead)
    if left == "in hand":
        next_range(db, dead)
    else:
        read(db, dead)
    others = [held(db, "n2"), held(db, "n3")]
    setting(db, ttl="0.5 seconds")
    time.sleep(0.6)
    for other in others:
        beat(db, other)
    got = held(db, "n4")
    assert got["group_id"] == dead["group_id"]
    assert next_range(db, got)["start_id"] == 101


@pytest.mark.parametrize("first", ["release", "takeover"])
def test_c07_a_release_that_races_a_takeover(db, connect, first):
    planned(db, to=100)
    old = held(db, "n1")
    next_range(db, old)
    n2 = node(db, "n2")
    releaser, taker = connect(), connect()
    with quietness(db):
        if first == "release":
            releaser.execute("begin")
            release(releaser, old)
            running = Background(lambda: lease(taker, n2))
            time.sleep(0.1)
            releaser.execute("commit")
            got = running.wait() or lease(taker, n2)
            assert got is not None
        else:
            taker.execute("begin")
            got = lease(taker, n2)
            running = Background(lambda: release(releaser, old))
            time.sleep(0.1)
            taker.execute("commit")
            with refused("LS001"):
                running.wait()
    assert next_range(db, got)["start_id"] == 1


def test_c09_no_deadlock_between_workers_takeovers_and_planners(db, connect):
    """A short soak; the long one is the property tests'."""
    groups = [planned(db, f"g{n}", to=400) for n in range(6)]
    setting(db, ttl="0.05 seconds", max_attempts=5)
    deadline = time.monotonic() + 2.5
    wrong: list[BaseException] = []

    def work(c, name, seed):
        dice = random.Random(seed)
        me = node(c, name)
        while time.monotonic() < deadline and not wrong:
            try:
                got = lease(c, me)
                if not got:
                    time.sleep(0.01)
                    continue
                handed = next_range(c, got)
                for _ in range(dice.randrange(6)):
                    if not handed:
                        break
                    beat(c, got, dice.randint(handed["next_id"], handed["end_id"] + 1))
                    if dice.random() < 0.3:
                        commit(c, got, begin(c, got, one_in_hand(c, got)))
                    if dice.random() < 0.2:
                        fail(c, got, handed)
                        handed = next_range(c, got)
                    else:
                        handed = finish_and_next(c, got, handed, 1)
                if dice.random() < 0.5:
                    release(c, got)
            except psycopg.Error as error:
                if error.sqlstate not in ("LS001", "LS002", "LS003", "22023"):
                    wrong.append(error)

    def one_in_hand(c, got):
        return next_range(c, got)["next_id"]

    def plan_on(c):
        n = 400
        while time.monotonic() < deadline and not wrong:
            n += 50
            try:
                c.execute("begin")
                for g in reversed(groups):
                    plan(c, g, n, n + 49)
                c.execute("commit")
                time.sleep(0.05)
            except psycopg.Error as error:
                wrong.append(error)

    threads = [
        threading.Thread(target=work, args=(connect(), f"n{n}", n), daemon=True) for n in range(4)
    ]
    threads.append(threading.Thread(target=plan_on, args=(connect(),), daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []
    assert not any(thread.is_alive() for thread in threads)


def test_c11_lease_group_judges_by_the_time_after_a_wait(db, connect):
    g = planned(db, to=100)
    old = held(db)
    next_range(db, old)
    setting(db, ttl="0.5 seconds")
    holder, taker = connect(), connect()
    n2 = node(db, "n2")
    holder.execute("begin")
    beat(holder, old)
    time.sleep(0.6)
    running = Background(lambda: lease(taker, n2))
    time.sleep(0.1)
    beat(holder, old)
    holder.execute("commit")
    assert running.wait() is None
    assert group_status(db, g)["lease_id"] == old["lease_id"]


def test_c11_heartbeats_in_a_long_transaction_use_the_wall_clock(db, connect):
    g = planned(db)
    old = held(db)
    worker = connect(autocommit=False)
    seen = []
    for _ in range(3):
        time.sleep(0.05)
        beat(worker, old)
        seen.append(group_status(worker, g)["heard_at"])
    worker.commit()
    assert seen == sorted(set(seen))


def test_c14_lost_answers(db, connect):
    g = planned(db)
    got = held(db)
    first = next_range(connect(), got)
    assert next_range(connect(), got)["range_id"] == first["range_id"]
    finish(connect(), got, first, 40)
    finish(connect(), got, first, 40)
    assert group_status(db, g)["headers"] == 40
    second = finish_and_next(connect(), got, first, 40)
    assert finish_and_next(connect(), got, first, 40) == second
    begun = begin(connect(), got, 101)
    commit(connect(), got, begun)
    commit(connect(), got, begun)
    fail(connect(), got, second)
    fail(connect(), got, second)
    assert at(db, g, 101)["attempts"] == 1
    release(connect(), got)
    with refused("LS001"):
        release(connect(), got)


def test_c18_heartbeat_lives_worker_does_not(db):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    moved = group_status(db, g)["moved_at"]
    for _ in range(3):
        time.sleep(0.01)
        beat(db, got)
    shown = group_status(db, g)
    assert shown["moved_at"] == moved < shown["heard_at"]
    assert shown["quiet"] is False
    end_lease(db, got)
    with refused("LS001"):
        beat(db, got)
    assert held(db, "n2")["group_id"] == g


def test_c20_a_taker_that_is_still_loading_shuts_down_cleanly(db):
    g = planned(db, to=300)
    old = held(db)
    read(db, old)
    kept = snapshot(db, old, 101)
    read(db, old)
    new = take_over(db)
    with refused("22023"):
        begin(db, new, 150)  # inside a range it was never handed
    release(db, new)
    assert status(db, g) == [(1, 101, "done"), (101, 101, "planned"), (201, 201, "planned")]
    assert held(db, "n3")["snapshot_id"] == kept


def test_c22_a_missing_file_falls_back_and_does_not_loop(db):
    g = planned(db)
    got = held(db)
    read(db, got)
    first = snapshot(db, got, 101)
    read(db, got)
    second = snapshot(db, got, 201)
    release(db, got)
    got = held(db, "n2")
    assert got["snapshot_id"] == second
    fallen = reject(db, got, second)
    assert fallen["snapshot_id"] == first
    assert reject(db, got, first) is None
    release(db, got)
    assert held(db, "n3")["snapshot_id"] is None
    assert status(db, g)[0] == (1, 101, "done")


def test_c23_the_late_upload_of_a_node_that_lost_its_lease(db):
    planned(db, to=400)
    old = held(db, "n1")
    read(db, old)
    read(db, old)
    late = begin(db, old, 201)
    new = take_over(db, "n2")
    for _ in range(2):
        read(db, new)
    kept = begin(db, new, 401)
    commit(db, new, kept)
    with refused("LS001"):
        commit(db, old, late)
    assert current(db, new)["file"] == kept["file"] != late["file"]
    assert late["snapshot_id"] in stale(db)


def test_c28_empty_groups_are_never_handed_out(db):
    n1 = node(db)
    for n, (low, high) in enumerate([(1, 0), (501, 500), (0, -1)]):
        assert plan(db, group(db, f"empty{n}"), low, high) == 0
    for _ in range(20):
        assert lease(db, n1) is None
    assert rows(db, "select 1 from leases.range_status") == []
    g = group(db, "one")
    assert plan(db, g, 7, 7) == 1
    got = held(db)
    assert (got["group_id"], next_range(db, got)["end_id"]) == (g, 7)
    assert plan(db, g, 8, 7) == 0


def test_c29_a_log_that_shrinks(db):
    g = group(db)
    plan(db, g, 1, 49_999, size=10_000)
    got = held(db)
    while next_range(db, got):
        read(db, got)
    snapshot(db, got, 50_000)
    with refused("22023"):
        plan(db, g, 50_000, 1200)
    assert plan(db, g, 1, 1200) == 0
    assert plan(db, g, 49_990, 50_010) == 11
    assert current(db, got)["next_id"] == 50_000
    restart_group(db, g)
    assert plan(db, g, 1, 1200) == 1200
    got = held(db)
    assert (got["snapshot_id"], read(db, got)["start_id"]) == (None, 1)
    assert group_status(db, g)["ranges_done"] == 1


def test_c30_the_seam_between_backfill_and_live(db, connect):
    g = group(db)
    plan(db, g, 1, 1000, priority=50)
    first, second = connect(), connect()
    first.execute("begin")
    plan(first, g, 1001, 1500, priority=5)
    running = Background(lambda: plan(second, g, 1001, 1510, priority=5))
    time.sleep(0.1)
    first.execute("commit")
    assert running.wait() == 10
    assert plan(db, g, 1501, 9000, priority=5, size=1000) == 7490
    seen = []
    for lane in ("history", "tail"):
        got = held(db, lane, lane)
        while handed := next_range(db, got):
            seen += range(handed["start_id"], handed["end_id"] + 1)
            finish(db, got, handed)
    assert sorted(seen) == list(range(1, 9001))


def test_c32_a_poison_range_is_parked_shows_and_blocks_nobody(db):
    g = planned(db, "poison", to=200)
    other = planned(db, "other", to=100, priority=90)
    setting(db, max_attempts=3)
    for n in range(3):
        got = held(db, f"victim{n}")
        assert got["group_id"] == g
        assert next_range(db, got)["start_id"] == 1
        end_lease(db, got)
    shown = at(db, g, 1)
    assert (shown["status"], shown["attempts"]) == ("parked", 3)
    assert shown["last_error"]
    got = held(db)
    assert (got["group_id"], read(db, got)["start_id"]) == (g, 101)
    assert held(db, "n2")["group_id"] == other
    release(db, got)
    assert any("parked" in r["reason"] for r in why(db, group_id=g))


def test_c33_no_group_is_starved(db):
    a = group(db, "a")
    plan(db, a, 1, 1_000_000, size=1_000_000)
    small = {planned(db, f"s{n}", to=10) for n in range(8)}
    n1 = node(db)
    served = []
    for _ in range(2 * 9):
        got = lease(db, n1)
        served.append(got["group_id"])
        release(db, got)
    assert small <= set(served)
    assert served.count(a) >= 9  # and the biggest has its turns


def test_c35_heartbeats_under_a_long_open_snapshot_stay_quick(db, connect):
    planned(db)
    got = held(db)
    next_range(db, got)
    report = open_transaction(connect(), "repeatable read")
    for _ in range(300):
        beat(db, got)
    started = time.monotonic()
    for _ in range(50):
        beat(db, got)
    assert time.monotonic() - started < 2
    report.execute("rollback")


def test_i6_ranges_come_in_ascending_order_over_takeovers(db):
    planned(db, to=1000)
    tape: list[int] = []
    dice = random.Random(7)
    kept: list[int] = []
    setting(db, ttl="5 minutes")
    got = held(db)
    while True:
        handed = next_range(db, got)
        if not handed:
            break
        tape += range(handed["next_id"], handed["end_id"] + 1)
        finish(db, got, handed)
        if dice.random() < 0.4:
            snapshot(db, got, handed["end_id"] + 1)
            kept = list(tape)
        if kept and handed["end_id"] < 1000 and dice.random() < 0.4:
            end_lease(db, got)
            got, tape = held(db), list(kept)
    assert tape == list(range(1, 1001))


def test_i2_every_article_of_a_plan_is_in_exactly_one_range(db):
    g = group(db)
    dice = random.Random(3)
    for _ in range(30):
        start = dice.randrange(0, 500)
        plan(db, g, start, start + dice.randrange(0, 60), size=dice.randrange(1, 20))
    seen = [n for r in ranges(db, g) for n in range(r["start_id"], r["end_id"] + 1)]
    assert len(seen) == len(set(seen))
    assert value(db, "select count(*) from leases.range_status") == len(ranges(db, g))
