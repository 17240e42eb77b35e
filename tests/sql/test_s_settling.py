"""Rules S: what the snapshot does not cover is read again."""

from __future__ import annotations

import pytest

from .helpers import (
    at,
    beat,
    begin,
    commit,
    discard,
    end_lease,
    fail,
    finish,
    finish_and_next,
    group,
    group_status,
    held,
    insert_range,
    next_range,
    node,
    one,
    plan,
    planned,
    ranges,
    read,
    reject,
    release,
    release_node,
    retry,
    setting,
    snapshot,
    status,
    take_over,
    value,
)

SETTLERS = {
    "takeover": lambda db, got: take_over(db),
    "release_group": release,
    "release_node": lambda db, got: release_node(db, node(db)),
    "end_lease": end_lease,
}
however = pytest.mark.parametrize("how", SETTLERS)


# S1 -----------------------------------------------------------------------------------------------


def test_s1_the_counter_stands_where_the_snapshot_was_begun_not_committed(db):
    g = planned(db)
    got = held(db)
    read(db, got)
    begun = begin(db, got, 101)
    read(db, got)  # while it streams
    commit(db, got, begun)
    release(db, got)
    assert status(db, g) == [(1, 101, "done"), (101, 101, "planned"), (201, 201, "planned")]


def test_s1_order_within_one_transaction_is_told_by_the_counter(db, connect):
    g = planned(db)
    got = held(db)
    caller = connect()
    caller.execute("begin")
    first = next_range(caller, got)
    second = finish_and_next(caller, got, first)
    begun = begin(caller, got, 150)
    finish(caller, got, second)
    read(caller, got)
    commit(caller, got, begun)
    caller.execute("commit")
    release(db, got)
    assert status(db, g) == [(1, 101, "done"), (101, 150, "planned"), (201, 201, "planned")]


def test_s1_standing_point_of_the_range_in_hand_is_the_snapshots_next_id(db):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    beat(db, got, 70)
    snapshot(db, got, 40)
    release(db, got)
    assert status(db, g)[0] == (1, 40, "planned")


def test_s1_standing_point_of_a_failed_range_is_its_resume_point(db):
    g = planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    failed = next_range(db, got)
    beat(db, got, 30)
    fail(db, got, failed)  # parked at 30, which the window holds
    next_range(db, got)
    snapshot(db, got, 150)
    retry(db, failed)
    release(db, got)
    got = held(db)
    assert next_range(db, got)["next_id"] == 30
    beat(db, got, 80)
    release(db, got)
    assert status(db, g)[:2] == [(1, 30, "planned"), (101, 150, "planned")]


# S2 -----------------------------------------------------------------------------------------------


@however
def test_s2_range_finished_before_the_snapshot_stays_done(db, how):
    g = planned(db, to=400)
    got = held(db)
    read(db, got, headers=1)
    read(db, got, headers=2)
    snapshot(db, got, 201)
    read(db, got, headers=4)
    next_range(db, got)
    SETTLERS[how](db, got)
    assert [s for _, _, s in status(db, g)] == ["done", "done", "planned", "planned"]
    assert group_status(db, g)["ranges_done"] == 2
    assert group_status(db, g)["headers"] == 3


def test_s2_stays_done_over_many_holders(db):
    g = planned(db, to=400)
    for n in range(4):
        got = held(db, f"n{n}")
        assert next_range(db, got)["start_id"] == 100 * n + 1
        finish(db, got, at(db, g, 100 * n + 1))
        snapshot(db, got, 100 * n + 101)
        release(db, got)
    assert {s for _, _, s in status(db, g)} == {"done"}


# S3 -----------------------------------------------------------------------------------------------


@however
def test_s3_range_handed_out_after_the_snapshot_is_read_again_from_its_start(db, how):
    g = planned(db)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    next_range(db, got)
    beat(db, got, 190)
    SETTLERS[how](db, got)
    assert status(db, g)[1] == (101, 101, "planned")


@however
def test_s3_range_with_a_standing_point_goes_back_to_it(db, how):
    g = planned(db)
    got = held(db)
    handed = next_range(db, got)
    snapshot(db, got, 40)
    beat(db, got, 90)
    finish(db, got, handed)
    read(db, got)
    SETTLERS[how](db, got)
    assert status(db, g) == [(1, 40, "planned"), (101, 101, "planned"), (201, 201, "planned")]


def test_s3_however_often_it_was_handed_out_since(db):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    snapshot(db, got, 40)
    for resume_point in (50, 60, 70):
        handed = next_range(db, got)
        beat(db, got, resume_point)
        fail(db, got, handed)
    for _ in range(3):
        read(db, got)
    release(db, got)
    assert status(db, g) == [(1, 40, "planned"), (101, 101, "planned"), (201, 201, "planned")]


def test_s3_over_several_holders_with_the_same_snapshot(db):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    snapshot(db, got, 40)
    for n in range(3):
        release(db, got)
        got = held(db, f"n{n}")
        assert got["snapshot_next"] == 40
        assert next_range(db, got)["next_id"] == 40
        beat(db, got, 60 + n)
        finish(db, got, at(db, g, 1))
        next_range(db, got)
        beat(db, got, 150)
    release(db, got)
    assert status(db, g) == [(1, 40, "planned"), (101, 101, "planned"), (201, 201, "planned")]


def test_s3_also_below_the_snapshots_next_id(db):
    g = group(db)
    plan(db, g, 1001, 1200)
    got = held(db)
    read(db, got)
    snapshot(db, got, 1101)
    plan(db, g, 1, 100)
    assert read(db, got, headers=9)["start_id"] == 1
    release(db, got)
    assert status(db, g) == [(1, 1, "planned"), (1001, 1101, "done"), (1101, 1101, "planned")]
    assert group_status(db, g)["headers"] == 0


def test_s3_where_nothing_is_left_it_is_done(db):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    snapshot(db, got, 101)
    release(db, got)
    assert status(db, g)[0] == (1, 101, "done")
    assert at(db, g, 1)["done_at"] is not None


def test_s3_finished_after_a_snapshot_that_held_all_of_it_stays_done(db):
    g = planned(db)
    got = held(db)
    handed = next_range(db, got)
    begun = begin(db, got, 101)
    finish(db, got, handed, 7)
    commit(db, got, begun)
    read(db, got, 100)
    release(db, got)
    assert status(db, g)[:2] == [(1, 101, "done"), (101, 101, "planned")]
    shown = group_status(db, g)
    assert (shown["ranges_done"], shown["headers"]) == (1, 0)  # done by settling (F1)


def test_s3_a_range_begun_before_and_not_touched_since_keeps_its_point(db):
    g = planned(db)
    setting(db, max_attempts=9)
    got = held(db)
    failed = next_range(db, got)
    beat(db, got, 30)
    fail(db, got, failed)
    release(db, got)  # no snapshot: planned at 30
    setting(db, offer_to=40)
    db.execute("update leases.ranges set priority = 30 where group_id = %s and start_id > 1", (g,))
    got = held(db)
    assert next_range(db, got)["start_id"] == 101
    snapshot(db, got, 150)
    release(db, got)
    assert status(db, g) == [(1, 30, "planned"), (101, 150, "planned"), (201, 201, "planned")]
    setting(db, offer_to=None)
    got = held(db)
    assert next_range(db, got)["next_id"] == 30
    beat(db, got, 99)
    release(db, got)
    assert status(db, g)[0] == (1, 30, "planned")


def test_s3_failed_since_the_snapshot_goes_back(db):
    g = planned(db)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    failed = next_range(db, got)
    beat(db, got, 160)
    fail(db, got, failed, "kept")
    assert one(db, failed)["next_id"] == 160
    release(db, got)
    assert status(db, g)[1] == (101, 101, "planned")
    assert one(db, failed)["last_error"] == "kept"


def test_s3_failed_with_nothing_left_since_the_snapshot_goes_back(db):
    g = planned(db)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    failed = next_range(db, got)
    beat(db, got, 201)
    fail(db, got, failed)
    assert one(db, failed)["status"] == "done"
    release(db, got)
    assert status(db, g)[1] == (101, 101, "planned")


# S4 -----------------------------------------------------------------------------------------------


@however
def test_s4_parked_range_goes_back_and_stays_parked(db, how):
    g = planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    failed = next_range(db, got)
    beat(db, got, 150)
    fail(db, got, failed)
    assert one(db, failed)["next_id"] == 150
    SETTLERS[how](db, got)
    assert status(db, g)[1] == (101, 101, "parked")


def test_s4_parked_range_goes_back_to_its_standing_point(db):
    g = planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    failed = next_range(db, got)
    snapshot(db, got, 40)
    beat(db, got, 80)
    fail(db, got, failed)
    release(db, got)
    assert status(db, g)[0] == (1, 40, "parked")


def test_s4_range_parked_before_the_snapshot_keeps_its_point(db):
    g = planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    failed = next_range(db, got)
    beat(db, got, 80)
    fail(db, got, failed)
    next_range(db, got)
    snapshot(db, got, 120)
    release(db, got)
    assert status(db, g)[:2] == [(1, 80, "parked"), (101, 120, "planned")]


def test_s4_retried_after_the_snapshot_and_read_goes_back_to_its_standing_point(db):
    g = planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    failed = next_range(db, got)
    beat(db, got, 80)
    fail(db, got, failed)
    next_range(db, got)
    snapshot(db, got, 120)
    retry(db, failed)
    finish(db, got, at(db, g, 101))
    assert read(db, got)["next_id"] == 80
    release(db, got)
    assert status(db, g)[:2] == [(1, 80, "planned"), (101, 120, "planned")]


# S5 -----------------------------------------------------------------------------------------------


@however
def test_s5_all_else_stays_as_it_is(db, how):
    g = planned(db, to=100)
    insert_range(db, g, 1001, 1100, status="done")
    insert_range(db, g, 1101, 1200, next_id=1150)
    insert_range(db, g, 1201, 1300, status="parked", next_id=1250)
    plan(db, g, 1301, 1400)
    before = ranges(db, g)[1:]
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    SETTLERS[how](db, got)
    assert ranges(db, g)[1:] == before
    assert status(db, g)[0] == (1, 101, "done")


def test_s5_range_inserted_done_after_the_snapshot_stays_done(db):
    g = planned(db, to=100)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    insert_range(db, g, 101, 200, status="done")
    plan(db, g, 201, 300)
    read(db, got)
    release(db, got)
    assert status(db, g) == [(1, 101, "done"), (101, 201, "done"), (201, 201, "planned")]


# S6 -----------------------------------------------------------------------------------------------


@however
def test_s6_without_a_snapshot_what_is_done_stays_done(db, how):
    g = planned(db)
    got = held(db)
    read(db, got, headers=5)
    next_range(db, got)
    beat(db, got, 150)
    SETTLERS[how](db, got)
    assert status(db, g) == [(1, 101, "done"), (101, 150, "planned"), (201, 201, "planned")]
    assert group_status(db, g)["headers"] == 5


@however
def test_s6_nothing_left_of_the_range_in_hand_is_done(db, how):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    beat(db, got, 101)
    SETTLERS[how](db, got)
    assert status(db, g)[0] == (1, 101, "done")


def test_s6_uncommitted_snapshot_is_none(db):
    g = planned(db)
    got = held(db)
    read(db, got)
    next_range(db, got)
    begin(db, got, 130)
    beat(db, got, 150)
    take_over(db)
    assert status(db, g)[:2] == [(1, 101, "done"), (101, 150, "planned")]


def test_s6_what_an_earlier_holder_left_stays_done_after_later_snapshots(db):
    g = planned(db, to=400)
    got = held(db)
    read(db, got)
    release(db, got)  # no snapshot: a seam
    got = held(db)
    read(db, got)
    snapshot(db, got, 201)
    read(db, got)
    release(db, got)
    assert [s for _, _, s in status(db, g)] == ["done", "done", "planned", "planned"]


# S7 -----------------------------------------------------------------------------------------------


def test_s7_other_lane_and_other_groups_are_left_alone(db):
    g, other = planned(db), planned(db, "other", priority=60)
    plan(db, g, 1001, 1300, priority=5)
    leases = {
        "history": held(db, "n1"),
        "tail": held(db, "n2", "tail"),
        "other": held(db, "n3"),
    }
    assert leases["other"]["group_id"] == other
    for got in leases.values():
        first = read(db, got, headers=1)
        snapshot(db, got, first["end_id"] + 1)
        read(db, got, headers=10)
        next_range(db, got)
    release(db, leases["history"])
    assert [s for _, _, s in status(db, g)] == [
        *("done", "planned", "planned"),
        *("done", "done", "leased"),
    ]
    assert [s for _, _, s in status(db, other)] == ["done", "done", "leased"]
    assert group_status(db, g, "tail")["headers"] == 11
    assert group_status(db, other)["headers"] == 11
    for name in ("tail", "other"):
        assert next_range(db, leases[name]) is not None


def test_s7_a_snapshot_covers_its_own_lane_only(db):
    g = planned(db)
    plan(db, g, 1001, 1300, priority=5)
    history, tail = held(db, "n1"), held(db, "n2", "tail")
    read(db, tail)
    next_range(db, tail)
    beat(db, tail, 1150)
    read(db, history)
    snapshot(db, history, 101)
    release(db, tail)  # no snapshot of its own: S6
    assert status(db, g)[3:5] == [(1001, 1101, "done"), (1101, 1150, "planned")]


def test_s7_costs_in_proportion_to_what_it_puts_back(db, connect):
    g = group(db)
    db.execute(
        """insert into leases.ranges (group_id, start_id, end_id, next_id, priority, status)
           select %s, n * 10, n * 10 + 9, n * 10, 50, 'done' from generate_series(1, 20000) as n""",
        (g,),
    )
    db.execute("vacuum analyze leases.ranges")
    plan(db, g, 1_000_000, 1_000_399)
    got = held(db)
    read(db, got)
    snapshot(db, got, 1_000_100)
    read(db, got)
    next_range(db, got)
    caller = connect()
    caller.execute("begin")
    release(caller, got)
    touched = value(
        caller,
        """select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint as n
           from pg_stat_xact_user_tables where schemaname = 'leases'""",
    )
    caller.execute("commit")
    assert touched < 2000, f"settling two ranges read {touched} rows"
    assert group_status(db, g)["ranges_done"] == 20001


# settling by a fallback is in test_p_snapshots; here only that it is the same settling


@pytest.mark.parametrize(
    "fall_back", [lambda db, g, got, s: reject(db, got, s), lambda db, g, got, s: discard(db, g)]
)
def test_s3_fallback_settles_by_the_older_snapshots_own_points(db, fall_back):
    g = planned(db, to=400)
    got = held(db)
    next_range(db, got)
    snapshot(db, got, 51)
    read(db, got)
    next_range(db, got)
    newer = snapshot(db, got, 151)
    read(db, got)
    next_range(db, got)
    fall_back(db, g, got, newer)
    assert status(db, g) == [
        (1, 51, "planned"),
        (101, 101, "planned"),
        (201, 201, "planned"),
        (301, 301, "planned"),
    ]
