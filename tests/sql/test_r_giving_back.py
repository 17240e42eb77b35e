"""Rules R: giving a group back."""

from __future__ import annotations

import pytest

from .helpers import (
    at,
    beat,
    begin,
    fail,
    finish_and_next,
    group_status,
    held,
    impatient,
    lane_status,
    lease,
    next_range,
    node,
    open_transaction,
    plan,
    planned,
    read,
    refused,
    release,
    release_node,
    snapshot,
    stale,
    status,
)


def by_group(db, got):
    release(db, got)


def by_node(db, got):
    assert release_node(db, node(db)) == 1


either = pytest.mark.parametrize("give_back", [by_group, by_node])


@either
def test_r1_range_in_hand_is_planned_at_its_resume_point(db, give_back):
    g = planned(db)
    got = held(db)
    read(db, got)
    next_range(db, got)
    beat(db, got, 150)
    give_back(db, got)
    assert status(db, g) == [(1, 101, "done"), (101, 150, "planned"), (201, 201, "planned")]
    with refused("LS001"):
        release(db, got)


@either
def test_r1_range_in_hand_is_planned_at_the_snapshots_point(db, give_back):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    snapshot(db, got, 40)
    beat(db, got, 80)
    give_back(db, got)
    assert status(db, g)[0] == (1, 40, "planned")


@either
def test_r1_what_was_finished_after_the_snapshot_is_planned_again(db, give_back):
    g = planned(db)
    got = held(db)
    read(db, got, headers=10)
    snapshot(db, got, 101)
    read(db, got, headers=20)
    read(db, got, headers=30)
    give_back(db, got)
    assert status(db, g) == [(1, 101, "done"), (101, 101, "planned"), (201, 201, "planned")]
    assert group_status(db, g)["headers"] == 10


@either
def test_r1_the_lane_is_free_at_once(db, give_back):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    give_back(db, got)
    shown = group_status(db, g)
    assert (shown["lease_id"], shown["node_id"], shown["range_id"]) == (None, None, None)
    assert lane_status(db)["groups_held"] == 0
    assert lane_status(db)["groups_waiting"] == 1
    assert held(db, "n2")["group_id"] == g


@either
def test_r1_pending_snapshot_is_aborted(db, give_back):
    planned(db)
    got = held(db)
    next_range(db, got)
    begun = begin(db, got, 50)
    give_back(db, got)
    assert stale(db) == {begun["snapshot_id"]: begun["file"]}


def test_r1_released_range_counts_its_attempt(db):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    release(db, got)
    assert at(db, g, 1)["attempts"] == 1


def test_r1_failed_range_keeps_its_resume_point_without_a_snapshot(db):
    g = planned(db)
    got = held(db)
    handed = next_range(db, got)
    beat(db, got, 33)
    fail(db, got, handed, "no answer")
    release(db, got)
    assert status(db, g)[0] == (1, 33, "planned")
    assert at(db, g, 1)["last_error"] == "no answer"


def test_r1_heartbeat_in_flight_does_not_bring_the_lease_back(db, connect):
    g = planned(db)
    got = held(db)
    late = open_transaction(connect(), "repeatable read")
    release(db, got)
    with refused("LS001", "40001"):
        beat(impatient(late), got)
    late.execute("rollback")
    assert group_status(db, g)["lease_id"] is None


def test_r2_group_given_back_caught_up_comes_again_when_more_is_planned(db):
    g = planned(db, to=200)
    got = held(db)
    first = next_range(db, got)
    second = finish_and_next(db, got, first, 1)
    assert finish_and_next(db, got, second, 1) is None
    snapshot(db, got, 201)
    release(db, got)
    n2 = node(db, "n2")
    assert lease(db, n2) is None
    plan(db, g, 201, 300)
    again = lease(db, n2)
    assert (again["group_id"], again["snapshot_next"]) == (g, 201)
    assert next_range(db, again)["start_id"] == 201
    assert group_status(db, g)["ranges_done"] == 2


def test_r2_nothing_is_lost_without_a_snapshot_but_one_seam(db):
    g = planned(db, to=100)
    got = held(db)
    read(db, got)
    release(db, got)
    plan(db, g, 101, 200)
    again = held(db, "n2")
    assert again["snapshot_id"] is None
    assert next_range(db, again)["start_id"] == 101


def test_r_release_node_of_a_node_that_holds_nothing(db):
    assert release_node(db, node(db)) == 0
