"""Rules F: finishing, resume points and failing."""

from __future__ import annotations

import pytest

from .helpers import (
    after_restore,
    at,
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
    insert_range,
    lane_status,
    lease,
    next_range,
    node,
    one,
    plan,
    planned,
    quietness,
    read,
    refused,
    reject,
    release,
    release_node,
    retry,
    row,
    setting,
    snapshot,
    status,
    take_over,
    value,
)


def counts(db, g, lane="history"):
    shown = group_status(db, g, lane)
    return shown["ranges_done"], shown["headers"]


# F1 -----------------------------------------------------------------------------------------------


def test_f1_finished_range_is_done_with_the_time_and_counted(db):
    g = planned(db)
    got = held(db)
    before = value(db, "select clock_timestamp()")
    handed = read(db, got, headers=40)
    shown = one(db, handed)
    assert (shown["status"], shown["next_id"]) == ("done", 101)
    assert before <= shown["done_at"] <= value(db, "select clock_timestamp()")
    assert counts(db, g) == (1, 40)
    read(db, got, headers=2)
    assert counts(db, g) == (2, 42)
    release(db, got)
    assert counts(db, g) == (2, 42)


def test_f1_resume_point_need_not_have_been_told(db):
    g = planned(db)
    got = held(db)
    handed = next_range(db, got)
    beat(db, got, 30)
    finish(db, got, handed)
    assert status(db, g)[0] == (1, 101, "done")


def test_f1_done_by_settling_counts_no_headers(db):
    g = planned(db, to=100)
    got = held(db)
    next_range(db, got)
    beat(db, got, 101)
    release(db, got)
    assert status(db, g) == [(1, 101, "done")]
    assert counts(db, g) == (1, 0)
    assert at(db, g, 1)["done_at"] is not None


def test_f1_what_settling_puts_back_is_taken_off_the_counts(db):
    g = planned(db)
    got = held(db)
    read(db, got, headers=90)
    snapshot(db, got, 101)
    read(db, got, headers=70)
    assert counts(db, g) == (2, 160)
    second = take_over(db)
    assert counts(db, g) == (1, 90)
    read(db, second, headers=60)
    assert counts(db, g) == (2, 150)


def test_f1_counts_follow_a_fallback(db):
    g = planned(db)
    got = held(db)
    read(db, got, headers=1)
    snapshot(db, got, 101)
    read(db, got, headers=10)
    second = snapshot(db, got, 201)
    read(db, got, headers=100)
    assert counts(db, g) == (3, 111)
    reject(db, got, second)
    assert counts(db, g) == (1, 1)


def test_f1_huge_headers_add_up(db):
    g = planned(db)
    got = held(db)
    for _ in range(3):
        read(db, got, headers=2**62)
    assert counts(db, g) == (3, 3 * 2**62)


@pytest.mark.parametrize("headers", [-1, None])
def test_f1_headers_that_make_no_sense(db, headers):
    planned(db)
    got = held(db)
    handed = next_range(db, got)
    with refused("22023"):
        finish(db, got, handed, headers)
    assert one(db, handed)["status"] == "leased"


def test_f1_lanes_count_apart(db):
    g = planned(db, to=100)
    plan(db, g, 1001, 1100, priority=5)
    read(db, held(db), headers=5)
    read(db, held(db, lane="tail"), headers=7)
    assert counts(db, g) == (1, 5)
    assert counts(db, g, "tail") == (1, 7)


# F2 -----------------------------------------------------------------------------------------------


def test_f2_finishing_again_changes_nothing_and_raises_nothing(db, connect):
    g = planned(db)
    got = held(db)
    first = read(db, got, headers=40)
    done_at = one(db, first)["done_at"]
    finish(connect(), got, first, 41)
    assert counts(db, g) == (1, 40)
    assert one(db, first)["done_at"] == done_at
    second = read(db, got)
    third = next_range(db, got)
    finish(db, got, first, 1)
    finish(db, got, second, 1)
    assert counts(db, g) == (2, 40)
    assert one(db, third)["status"] == "leased"


def test_f2_finish_and_next_asked_again_gives_the_same_range(db):
    g = planned(db)
    got = held(db)
    first = next_range(db, got)
    second = finish_and_next(db, got, first, 40)
    again = finish_and_next(db, got, first, 40)
    assert again == second
    assert again["attempts"] == 1
    assert counts(db, g) == (1, 40)
    assert second["start_id"] == 101


def test_f2_finishing_again_after_a_snapshot_covered_it(db):
    g = planned(db)
    got = held(db)
    first = read(db, got, headers=3)
    snapshot(db, got, 101)
    finish(db, got, first, 9)
    assert counts(db, g) == (1, 3)


def test_f2_any_other_range_is_not_held(db):
    g = planned(db)
    other = planned(db, "other", priority=90)
    got = held(db)
    handed = next_range(db, got)
    before = everything(db)
    for wrong in (at(db, g, 101), at(db, other, 1), {"range_id": 10**9}, {"range_id": None}):
        with refused("LS002"):
            finish(db, got, wrong)
        with refused("LS002"):
            finish_and_next(db, got, wrong)
        with refused("LS002"):
            fail(db, got, wrong)
    assert everything(db) == before
    finish(db, got, handed)


def test_f2_range_that_another_lease_finished_is_not_held(db):
    planned(db)
    first = held(db)
    done = read(db, first)
    release(db, first)
    second = held(db)
    with refused("LS002"):
        finish(db, second, done)


def test_f2_range_put_back_by_settling_is_not_held(db):
    planned(db)
    first = held(db)
    read(db, first)
    snapshot(db, first, 101)
    back = read(db, first)
    second = take_over(db)
    with refused("LS002"):
        finish(db, second, back)
    assert one(db, back)["status"] == "planned"


def test_f2_failed_range_is_not_held(db):
    planned(db)
    got = held(db)
    handed = next_range(db, got)
    fail(db, got, handed)
    with refused("LS002"):
        finish(db, got, handed)
    assert one(db, handed)["status"] == "planned"


def test_f2_finished_range_cannot_be_failed(db):
    planned(db)
    got = held(db)
    handed = read(db, got)
    with refused("LS002"):
        fail(db, got, handed)
    assert one(db, handed)["status"] == "done"


# F3 -----------------------------------------------------------------------------------------------


def test_f3_heartbeat_moves_the_resume_point_forward(db):
    planned(db)
    got = held(db)
    handed = next_range(db, got)
    for n in (1, 2, 50, 50, 100, 101):
        beat(db, got, n)
        assert one(db, handed)["next_id"] == n
        assert one(db, handed)["status"] == "leased"
    beat(db, got)
    assert one(db, handed)["next_id"] == 101


@pytest.mark.parametrize("next_id", [149, 101, 100, 202, 0, -1, 2**63 - 1])
def test_f3_backward_or_outside_is_refused(db, next_id):
    planned(db)
    got = held(db)
    read(db, got)
    handed = next_range(db, got)
    beat(db, got, 150)
    with refused("22023"):
        beat(db, got, next_id)
    assert one(db, handed)["next_id"] == 150


def test_f3_with_no_range_in_hand_it_is_not_held(db):
    planned(db)
    got = held(db)
    with refused("LS002"):
        beat(db, got, 1)
    read(db, got)
    with refused("LS002"):
        beat(db, got, 101)
    beat(db, got)


def test_f3_begin_snapshot_moves_the_resume_point_forward(db):
    planned(db)
    got = held(db)
    handed = next_range(db, got)
    begin(db, got, 60)
    assert one(db, handed)["next_id"] == 60
    with refused("22023"):
        beat(db, got, 59)


def test_f3_begin_snapshot_never_moves_it_back(db):
    planned(db)
    got = held(db)
    handed = next_range(db, got)
    beat(db, got, 60)
    commit(db, got, begin(db, got, 40))
    assert one(db, handed)["next_id"] == 60
    assert current(db, got)["next_id"] == 40


# F4 -----------------------------------------------------------------------------------------------


def test_f4_failed_range_keeps_the_reason_and_goes_back_at_its_resume_point(db):
    g = planned(db)
    got = held(db)
    handed = next_range(db, got)
    beat(db, got, 30)
    fail(db, got, handed, "connection reset by peer")
    shown = one(db, handed)
    assert (shown["status"], shown["next_id"], shown["attempts"]) == ("planned", 30, 1)
    assert shown["last_error"] == "connection reset by peer"
    assert group_status(db, g)["range_id"] is None
    again = next_range(db, got)
    assert (again["range_id"], again["next_id"], again["attempts"]) == (handed["range_id"], 30, 2)


def test_f4_failed_range_with_nothing_left_is_done(db):
    g = planned(db, to=100)
    setting(db, max_attempts=1)
    got = held(db)
    handed = next_range(db, got)
    beat(db, got, 101)
    fail(db, got, handed)
    assert one(db, handed)["status"] == "done"
    assert one(db, handed)["done_at"] is not None
    assert counts(db, g) == (1, 0)


def test_f4_no_limit_means_no_parking(db):
    planned(db, to=100)
    got = held(db)
    for n in range(1, 13):
        handed = next_range(db, got)
        assert handed["attempts"] == n
        fail(db, got, handed)
    assert one(db, handed)["status"] == "planned"


def test_f4_at_max_attempts_it_is_parked_and_shows(db):
    g = planned(db)
    setting(db, max_attempts=2)
    got = held(db)
    fail(db, got, next_range(db, got), "first")
    handed = next_range(db, got)
    assert (handed["start_id"], handed["attempts"]) == (1, 2)
    beat(db, got, 20)
    fail(db, got, handed, "second")
    shown = one(db, handed)
    assert (shown["status"], shown["next_id"]) == ("parked", 20)
    assert (shown["attempts"], shown["last_error"]) == (2, "second")
    assert next_range(db, got)["start_id"] == 101
    assert group_status(db, g)["ranges_parked"] == 1
    assert lane_status(db)["ranges_parked"] == 1


def test_f4_failing_again_changes_nothing(db):
    g = planned(db)
    setting(db, max_attempts=2)
    got = held(db)
    handed = next_range(db, got)
    beat(db, got, 20)
    fail(db, got, handed, "once")
    shown = one(db, handed)
    fail(db, got, handed, "twice")
    assert one(db, handed) == shown
    assert counts(db, g) == (0, 0)


def test_f4_failing_again_a_parked_range_changes_nothing(db):
    planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    handed = next_range(db, got)
    fail(db, got, handed, "once")
    shown = one(db, handed)
    other = next_range(db, got)
    fail(db, got, handed, "twice")
    assert one(db, handed) == shown
    assert one(db, other)["status"] == "leased"


def test_f4_failing_again_after_another_range_was_read_changes_nothing(db):
    planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    failed = next_range(db, got)
    fail(db, got, failed, "once")
    read(db, got)
    snapshot(db, got, 201)
    shown = one(db, failed)
    fail(db, got, failed, "twice")
    assert one(db, failed) == shown


def test_f4_another_lease_cannot_fail_what_it_was_not_handed(db):
    planned(db)
    first = held(db)
    handed = next_range(db, first)
    fail(db, first, handed)
    release(db, first)
    second = held(db)
    with refused("LS002"):
        fail(db, second, handed)


PARKING = {
    "quiet": lambda db, g, got: take_over(db),
    "end_lease": lambda db, g, got: end_lease(db, got),
}


@pytest.mark.parametrize("end", PARKING)
def test_f4_range_in_hand_at_max_attempts_is_parked_when_its_holder_is_gone(db, end):
    g = planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    next_range(db, got)
    beat(db, got, 20)
    PARKING[end](db, g, got)
    assert status(db, g)[0] == (1, 20, "parked")
    assert next_range_starts(db) == 101


def next_range_starts(db):
    shown = lease(db, node(db, "n3"))
    if shown is None:  # taken over already: ask as the holder
        shown = value(db, "select lease_id from leases.group_status where lease_id is not null")
    return next_range(db, shown)["start_id"]


@pytest.mark.parametrize("end", PARKING)
def test_f4_below_max_attempts_it_is_planned_when_its_holder_is_gone(db, end):
    g = planned(db)
    setting(db, max_attempts=2)
    got = held(db)
    next_range(db, got)
    PARKING[end](db, g, got)
    assert status(db, g)[0] == (1, 1, "planned")
    assert at(db, g, 1)["attempts"] == 1


@pytest.mark.parametrize("end", PARKING)
def test_f4_nothing_left_of_the_dead_holders_range_is_done_not_parked(db, end):
    g = planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    next_range(db, got)
    beat(db, got, 101)
    PARKING[end](db, g, got)
    assert status(db, g)[0] == (1, 101, "done")


NOT_PARKING = {
    "release_group": lambda db, g, got, kept: release(db, got),
    "release_node": lambda db, g, got, kept: release_node(db, node(db)),
    "discard_snapshot": lambda db, g, got, kept: discard(db, g),
    "reject_snapshot": lambda db, g, got, kept: reject(db, got, kept),
    "after_restore": lambda db, g, got, kept: after_restore(db),
}


@pytest.mark.parametrize("end", NOT_PARKING)
def test_f4_only_quietness_and_end_lease_park(db, end):
    g = planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    read(db, got)
    kept = snapshot(db, got, 101)
    next_range(db, got)
    NOT_PARKING[end](db, g, got, kept)
    assert status(db, g)[1] == (101, 101, "planned")
    assert at(db, g, 101)["attempts"] == 1


def test_f4_finished_range_that_settling_puts_back_starts_over_at_no_attempts(db):
    g = planned(db)
    setting(db, max_attempts=2)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    fail(db, got, next_range(db, got))
    handed = next_range(db, got)
    assert handed["attempts"] == 2
    finish(db, got, handed)
    next_range(db, got)
    take_over(db)
    assert at(db, g, 101)["status"] == "planned"
    assert at(db, g, 101)["attempts"] == 0
    assert at(db, g, 201)["attempts"] == 1


def test_f4_range_is_parked_by_quietness_only_while_it_was_in_hand(db):
    """A range failed once and lying there planned is not what killed the holder."""
    g = planned(db, to=200)
    insert = at(db, g, 101)
    db.execute("update leases.ranges set attempts = 5 where range_id = %s", (insert["range_id"],))
    setting(db, max_attempts=2)
    got = held(db)
    next_range(db, got)
    second = take_over(db)
    assert [r[2] for r in status(db, g)] == ["planned", "planned"]
    assert next_range(db, second)["start_id"] == 1


def test_f4_retry_range_plans_it_again_with_its_attempts_forgotten(db):
    planned(db)
    setting(db, max_attempts=1)
    got = held(db)
    handed = next_range(db, got)
    beat(db, got, 20)
    fail(db, got, handed)
    read(db, got)
    retry(db, handed)
    shown = one(db, handed)
    assert (shown["status"], shown["attempts"], shown["next_id"]) == ("planned", 0, 20)
    again = next_range(db, got)
    assert (again["range_id"], again["next_id"], again["attempts"]) == (handed["range_id"], 20, 1)


def test_f4_retried_range_makes_its_free_lane_a_candidate(db):
    g = planned(db, to=100)
    setting(db, max_attempts=1)
    got = held(db)
    handed = next_range(db, got)
    fail(db, got, handed)
    release(db, got)
    assert lease(db, node(db)) is None
    retry(db, handed)
    assert held(db)["group_id"] == g


def test_f4_parked_by_plain_sql(db):
    g = planned(db, to=200)
    db.execute(
        "update leases.ranges set status = 'parked' where group_id = %s and start_id = 1", (g,)
    )
    got = held(db)
    assert read(db, got)["start_id"] == 101
    assert next_range(db, got) is None
    insert_range(db, g, 301, 400, status="parked")
    assert next_range(db, got) is None
    assert lane_status(db)["ranges_parked"] == 2


def test_f4_max_attempts_reached_while_quiet_but_heard_again_is_not_parked(db):
    g = planned(db, to=100)
    setting(db, max_attempts=1)
    got = held(db)
    handed = next_range(db, got)
    with quietness(db):
        beat(db, got)
        assert lease(db, node(db, "n2")) is None
    finish(db, got, handed)
    assert status(db, g) == [(1, 101, "done")]


def test_f1_headers_default_to_none_found(db):
    g = planned(db)
    got = held(db)
    first = next_range(db, got)
    second = row(
        db,
        "select * from leases.finish_and_next(lease_id => %s, range_id => %s)",
        *(got["lease_id"], first["range_id"]),
    )
    db.execute(
        "select leases.finish_range(lease_id => %s, range_id => %s)",
        (got["lease_id"], second["range_id"]),
    )
    assert counts(db, g) == (2, 0)
