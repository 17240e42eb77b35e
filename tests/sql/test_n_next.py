"""Rules N: the next range."""

from __future__ import annotations

import pytest

from .helpers import (
    Background,
    allowing,
    at,
    beat,
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
    one,
    open_transaction,
    plan,
    planned,
    publish,
    quietness,
    ranges,
    read,
    release,
    set_priority,
    setting,
    snapshot,
    status,
    take_over,
    wait_until_blocked,
)

# N1 -----------------------------------------------------------------------------------------------


def test_n1_range_in_hand_is_given_again_and_counts_no_attempt(db, connect):
    planned(db)
    got = held(db)
    first = next_range(db, got)
    again = next_range(connect(), got)  # a lost answer: asked on another connection
    assert again == first
    assert (first["start_id"], first["next_id"], first["attempts"]) == (1, 1, 1)
    assert one(db, first)["attempts"] == 1


def test_n1_range_in_hand_is_given_again_at_its_resume_point(db):
    planned(db)
    got = held(db)
    first = next_range(db, got)
    beat(db, got, 42)
    assert next_range(db, got) == {**first, "next_id": 42}


def test_n1_lowest_by_start_and_not_by_priority(db):
    g = group(db)
    plan(db, g, 201, 300, priority=20)
    plan(db, g, 101, 200, priority=90)
    plan(db, g, 1, 100, priority=50)
    got = held(db)
    assert [read(db, got)["start_id"] for _ in range(3)] == [1, 101, 201]


def test_n1_columns_of_the_range(db):
    g = group(db)
    plan(db, g, 5, 104, priority=33, capture=True)
    got = held(db)
    version = publish(db, '{"keep": "all"}')
    handed = next_range(db, got)
    assert handed == {
        "range_id": at(db, g, 5)["range_id"],
        "start_id": 5,
        "end_id": 104,
        "next_id": 5,
        "priority": 33,
        "capture": True,
        "attempts": 1,
        "rules_version": version,
    }


def test_n1_range_planned_below_later_is_next(db):
    g = group(db)
    plan(db, g, 1001, 1200)
    got = held(db)
    read(db, got)
    plan(db, g, 1, 100)
    assert read(db, got)["start_id"] == 1
    assert read(db, got)["start_id"] == 1101
    insert_range(db, g, 500, 600)
    assert read(db, got)["start_id"] == 500
    assert next_range(db, got) is None


def test_n1_range_planned_below_does_not_displace_the_range_in_hand(db):
    g = group(db)
    plan(db, g, 1001, 1200)
    got = held(db)
    first = next_range(db, got)
    plan(db, g, 1, 100)
    assert next_range(db, got)["range_id"] == first["range_id"]
    assert finish_and_next(db, got, first)["start_id"] == 1


def test_n1_range_planned_while_the_lane_was_caught_up(db):
    g = planned(db, to=100)
    got = held(db)
    read(db, got)
    assert next_range(db, got) is None
    plan(db, g, 101, 200)
    assert read(db, got)["start_id"] == 101


def test_n1_range_committed_late_below_is_not_skipped(db, connect):
    g = group(db)
    plan(db, g, 1001, 1200)
    planner = connect()
    planner.execute("begin")
    plan(planner, g, 1, 100)
    got = held(db)
    first = next_range(db, got)
    assert first["start_id"] == 1001
    planner.execute("commit")
    assert finish_and_next(db, got, first)["start_id"] == 1


def test_n1_range_in_hand_stays_though_it_is_offered_no_more(db):
    planned(db)
    got = held(db)
    first = next_range(db, got)
    setting(db, offer_to=40)
    assert next_range(db, got)["range_id"] == first["range_id"]
    assert finish_and_next(db, got, first) is None
    setting(db, offer_to=None)
    assert next_range(db, got)["start_id"] == 101


def test_n1_opening_the_bounds_offers_lower_ranges_to_the_holder(db):
    g = group(db)
    plan(db, g, 1, 100, priority=90)
    plan(db, g, 101, 300, priority=20)
    setting(db, offer_to=50)
    got = held(db)
    assert read(db, got)["start_id"] == 101
    setting(db, offer_to=None)
    assert read(db, got)["start_id"] == 1
    assert read(db, got)["start_id"] == 201


def test_n1_ranges_put_back_by_an_administrator_are_handed_out_again(db):
    g = planned(db)
    got = held(db)
    for _ in range(3):
        read(db, got)
    release(db, got)
    db.execute(
        "update leases.ranges set status = 'planned', next_id = start_id "
        "where group_id = %s and start_id = 101",
        (g,),
    )
    assert status(db, g) == [(1, 101, "done"), (101, 101, "planned"), (201, 301, "done")]
    got = held(db)
    assert read(db, got)["start_id"] == 101
    assert next_range(db, got) is None


def test_n1_only_ranges_of_the_lane(db):
    g = group(db)
    plan(db, g, 1, 100, priority=5)
    plan(db, g, 101, 200, priority=50)
    got = held(db)
    assert read(db, got)["start_id"] == 101
    assert next_range(db, got) is None


# N2 -----------------------------------------------------------------------------------------------


def test_n2_handed_out_range_is_leased_with_an_attempt_and_the_rules_version(db):
    g = planned(db)
    publish(db, '{"a": 1}')
    version = publish(db, '{"a": 2}')
    got = held(db)
    assert (got["rules_version"], got["rules"]) == (version, {"a": 2})
    handed = next_range(db, got)
    shown = one(db, handed)
    assert (shown["status"], shown["attempts"], shown["rules_version"]) == ("leased", 1, version)
    assert shown["done_at"] is None
    assert group_status(db, g)["range_id"] == handed["range_id"]
    assert at(db, g, 101)["attempts"] == 0


def test_n2_workers_go_by_the_current_rules_at_the_next_range(db):
    planned(db)
    got = held(db)
    first = next_range(db, got)
    version = publish(db, '{"new": true}')
    assert version > first["rules_version"]
    second = finish_and_next(db, got, first)
    assert second["rules_version"] == version
    assert one(db, first)["rules_version"] == first["rules_version"]


def test_n2_attempts_grow_with_each_hand_out(db):
    g = planned(db, to=100)
    for n in (1, 2, 3):
        got = held(db)
        assert next_range(db, got)["attempts"] == n
        release(db, got)
    assert at(db, g, 1)["attempts"] == 3
    assert at(db, g, 1)["status"] == "planned"


def test_n2_attempts_grow_with_each_takeover(db):
    g = planned(db, to=100)
    next_range(db, held(db))
    second = take_over(db)
    assert next_range(db, second)["attempts"] == 2
    assert at(db, g, 1)["attempts"] == 2


# N3 -----------------------------------------------------------------------------------------------


def test_n3_caught_up_gives_no_row_and_the_lease_goes_on(db):
    g = planned(db, to=100)
    got = held(db)
    first = next_range(db, got)
    assert finish_and_next(db, got, first) is None
    assert next_range(db, got) is None
    beat(db, got)
    assert group_status(db, g)["lease_id"] == got["lease_id"]
    assert group_status(db, g)["range_id"] is None
    assert lease(db, node(db, "n2")) is None


# N4 -----------------------------------------------------------------------------------------------


def begun(db):
    """Make a group with one range, begun in history and given back at 50."""
    g = planned(db, to=100)
    got = held(db)
    next_range(db, got)
    beat(db, got, 50)
    release(db, got)
    assert status(db, g) == [(1, 50, "planned")]
    return g


def prioritise(db, g, priority):
    db.execute("update leases.ranges set priority = %s where group_id = %s", (priority, g))


def test_n4_begun_range_stays_in_its_lane_whatever_its_priority(db):
    g = begun(db)
    prioritise(db, g, 5)
    assert at(db, g, 1)["lane"] == "history"
    assert lease(db, node(db), "tail") is None
    handed = next_range(db, held(db))
    assert (handed["next_id"], handed["priority"]) == (50, 5)


def test_n4_range_back_at_its_start_goes_where_its_priority_says(db):
    g = begun(db)
    prioritise(db, g, 5)
    db.execute("update leases.ranges set next_id = start_id where group_id = %s", (g,))
    assert at(db, g, 1)["lane"] == "tail"
    assert lease(db, node(db), "history") is None
    assert next_range(db, held(db, lane="tail"))["next_id"] == 1


def test_n4_range_not_begun_moves_with_its_priority(db):
    g = planned(db, to=100)
    prioritise(db, g, 5)
    assert at(db, g, 1)["lane"] == "tail"
    assert lease(db, node(db), "history") is None
    assert next_range(db, held(db, lane="tail"))["start_id"] == 1


def test_n4_settling_back_to_the_start_moves_it_to_its_prioritys_lane(db):
    g = planned(db, to=200)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    next_range(db, got)
    beat(db, got, 150)
    fail(db, got, at(db, g, 101))
    prioritise_one(db, g, 101, 5)
    assert at(db, g, 101)["lane"] == "history"  # begun
    release(db, got)
    assert status(db, g)[1] == (101, 101, "planned")
    assert at(db, g, 101)["lane"] == "tail"
    assert next_range(db, held(db, lane="tail"))["start_id"] == 101


def prioritise_one(db, g, start, priority):
    db.execute(
        "update leases.ranges set priority = %s where group_id = %s and start_id = %s",
        (priority, g, start),
    )


def test_n4_failed_range_with_a_resume_point_stays_with_the_holder(db):
    g = planned(db, to=100)
    got = held(db)
    handed = next_range(db, got)
    beat(db, got, 50)
    fail(db, got, handed)
    prioritise(db, g, 5)
    assert lease(db, node(db, "n2"), "tail") is None
    assert next_range(db, got)["next_id"] == 50


def test_n4_set_priority_moves_only_ranges_whole_inside_planned_and_not_begun(db):
    g = planned(db, to=500)
    got = held(db)
    read(db, got)  # 1-100 done
    handed = next_range(db, got)  # 101-200 in hand
    assert set_priority(db, g, 1, 450, 5) == 2
    assert [r["priority"] for r in ranges(db, g)] == [50, 50, 5, 5, 50]
    assert [r["lane"] for r in ranges(db, g)] == ["history", "history", "tail", "tail", "history"]
    finish(db, got, handed)
    assert next_range(db, got)["start_id"] == 401
    assert next_range(db, held(db, "n2", "tail"))["start_id"] == 201


def test_n4_set_priority_leaves_a_begun_planned_range(db):
    g = begun(db)
    assert set_priority(db, g, 1, 100, 5) == 0
    assert at(db, g, 1)["priority"] == 50


def test_n4_set_priority_of_a_range_that_was_failed_at_its_start(db):
    g = planned(db, to=100)
    got = held(db)
    fail(db, got, next_range(db, got))
    assert set_priority(db, g, 1, 100, 40) == 1
    assert next_range(db, got)["priority"] == 40


def test_n4_range_that_was_failed_at_its_start_is_no_longer_the_holders(db):
    g = planned(db, to=100)
    got = held(db)
    fail(db, got, next_range(db, got))
    prioritise_one(db, g, 1, 5)
    assert [r["lane"] for r in ranges(db, g)] == ["tail"]
    assert next_range(db, held(db, "n2", "tail"))["start_id"] == 1
    assert [(r["lane"], r["status"]) for r in ranges(db, g)] == [("tail", "leased")]


@pytest.mark.parametrize("priority", [5, 90])
def test_n4_done_range_shows_in_the_lane_that_handed_it_out(db, priority):
    g = planned(db, to=100)
    got = held(db)
    read(db, got, headers=3)
    release(db, got)
    prioritise(db, g, priority)
    assert at(db, g, 1)["lane"] == "history"
    assert group_status(db, g)["ranges_done"] == 1
    assert group_status(db, g)["headers"] == 3


def finished_with_the_tails_priority(db, is_covered):
    """Have 101..200 finished, after a snapshot if covered, and give it 5; return the group and its lease."""
    g = planned(db, to=200)
    got = held(db)
    read(db, got)
    if is_covered:
        snapshot(db, got, 101)
    read(db, got)
    prioritise_one(db, g, 101, 5)
    return g, got


def test_n4_finished_range_that_settling_puts_back_goes_where_its_priority_says(db):
    g, got = finished_with_the_tails_priority(db, is_covered=True)
    assert at(db, g, 101)["lane"] == "history"
    release(db, got)
    assert status(db, g)[1] == (101, 101, "planned")
    assert at(db, g, 101)["lane"] == "tail"
    assert next_range(db, held(db, lane="tail"))["start_id"] == 101


def test_n4_priority_of_the_range_in_hand_does_not_move_it(db):
    g = planned(db, to=200)
    got = held(db)
    handed = next_range(db, got)
    with allowing("55006"):
        prioritise(db, g, 5)
    assert one(db, handed)["lane"] == "history"
    assert lease(db, node(db, "n2"), "tail") is None or at(db, g, 101)["lane"] == "tail"
    finish(db, got, handed)
    assert one(db, handed)["lane"] == "history"


@pytest.mark.parametrize("is_covered", [False, True])
def test_n4_range_finished_in_a_window_is_not_offered_in_another_lane(db, is_covered):
    """It has the tail's priority, but is the history holder's until the window is lost."""
    g, got = finished_with_the_tails_priority(db, is_covered)
    assert lease(db, node(db, "n2"), "tail") is None
    prioritise_one(db, g, 101, 7)
    assert lease(db, node(db, "n2"), "tail") is None
    release(db, got)
    tail = lease(db, node(db, "n2"), "tail")
    assert (tail is not None) == is_covered
    assert at(db, g, 101)["status"] == ("planned" if is_covered else "done")
    if is_covered:
        assert next_range(db, tail)["start_id"] == 101


def test_n4_quiet_holders_range_that_settling_gives_another_lane_is_no_backlog(db):
    g, _ = finished_with_the_tails_priority(db, is_covered=True)
    with quietness(db):
        assert lease(db, node(db, "n2")) is None
    assert at(db, g, 101)["lane"] == "tail"
    assert next_range(db, held(db, "n2", "tail"))["start_id"] == 101


def out_of_band(db):
    """History from 61 on; the range in hand has 50."""
    setting(db, "history", priority_from=61)
    setting(db, "tail", priority_to=60)


def test_n4_quiet_holders_range_in_hand_whose_priority_left_the_band_is_no_backlog(db):
    g = planned(db, to=100)
    next_range(db, held(db))
    out_of_band(db)
    assert at(db, g, 1)["lane"] == "history"
    with quietness(db):
        assert lease(db, node(db, "n2")) is None
    assert next_range(db, held(db, "n2", "tail"))["start_id"] == 1


@pytest.mark.parametrize("how", ["release", "fail"])
def test_n4_range_back_at_its_start_is_heard_of_by_the_other_lanes_holder(db, how):
    g = planned(db, to=100)
    plan(db, g, 101, 200, priority=5)
    got = held(db)
    handed = next_range(db, got)
    out_of_band(db)
    assert at(db, g, 1)["lane"] == "history"
    tail = held(db, "n2", "tail")
    read(db, tail)
    assert next_range(db, tail) is None
    if how == "fail":
        fail(db, got, handed)
    else:
        release(db, got)
    assert at(db, g, 1)["lane"] == "tail"
    assert next_range(db, tail)["start_id"] == 1


def test_n4_range_failed_at_its_start_is_not_set_back_by_the_lane_it_left(db):
    g = planned(db, to=100)
    got = held(db)
    fail(db, got, next_range(db, got))
    prioritise(db, g, 5)
    tail = held(db, "n2", "tail")
    next_range(db, tail)
    beat(db, tail, 40)
    release(db, tail)
    release(db, got)
    assert at(db, g, 1)["next_id"] == 40
    assert next_range(db, held(db, lane="tail"))["next_id"] == 40


@pytest.mark.parametrize("finished", [False, True])
def test_n4_priority_changed_by_one_who_can_not_see_the_window_hands_nothing_out_twice(
    db, connect, finished
):
    g = planned(db, to=100)
    admin = open_transaction(connect(), "repeatable read")
    admin.execute("select from leases.groups")
    got = held(db)
    handed = next_range(db, got)
    if finished:
        finish(db, got, handed)
    prioritise(admin, g, 5)
    admin.execute("commit")
    tail = lease(db, node(db, "n2"), "tail")
    assert tail is None or next_range(db, tail) is None
    release(db, got)
    tail = tail or lease(db, node(db, "n2"), "tail")
    again = tail and next_range(db, tail)
    assert (again is None) == finished
    assert at(db, g, 1)["status"] == ("done" if finished else "leased")


def test_f4_failed_range_resumes_also_without_its_reason(db):
    """An administrator may take the reason away; where the window stands is not in it."""
    g = planned(db, to=200)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    handed = next_range(db, got)
    beat(db, got, 150)
    fail(db, got, handed)
    db.execute("update leases.ranges set last_error = null where group_id = %s", (g,))
    assert next_range(db, got)["next_id"] == 150


def test_n1_two_calls_of_one_holder_at_once(db, connect):
    g = planned(db)
    got = held(db)
    first = next_range(db, got)
    one_, two = connect(), connect()
    one_.execute("begin")
    second = finish_and_next(one_, got, first, 40)
    running = Background(lambda: finish_and_next(two, got, first, 40))
    assert wait_until_blocked(db, two)
    one_.execute("commit")
    assert running.wait() == second
    assert one(db, second)["attempts"] == 1
    assert group_status(db, g)["headers"] == 40


def test_n2_hand_out_rolled_back_counts_no_attempt(db, connect):
    planned(db)
    got = held(db)
    caller = connect()
    caller.execute("begin")
    next_range(caller, got)
    caller.execute("rollback")
    assert next_range(db, got)["attempts"] == 1
