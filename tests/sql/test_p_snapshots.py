"""Rules P: snapshots."""

from __future__ import annotations

import re

import pytest

from .helpers import (
    CHECKSUM,
    FAR,
    abort,
    after_restore,
    allowing,
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
    forget,
    group,
    group_status,
    held,
    insert_range,
    next_range,
    node,
    plan,
    planned,
    read,
    refused,
    reject,
    release,
    setting,
    snapshot,
    stale,
    status,
    take_over,
    value,
)

# P1 -----------------------------------------------------------------------------------------------


def test_p1_only_the_commit_makes_a_snapshot_current(db):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    assert current(db, got) is None
    begun = begin(db, got, 50)
    assert current(db, got) is None
    assert group_status(db, g)["snapshot_id"] is None
    before = value(db, "select clock_timestamp()")
    commit(db, got, begun, 12345, CHECKSUM)
    shown = current(db, got)
    taken_at = shown.pop("taken_at")
    assert before <= taken_at <= value(db, "select clock_timestamp()")
    assert shown == {**begun, "next_id": 50, "bytes": 12345, "checksum": CHECKSUM}
    assert group_status(db, g)["snapshot_id"] == begun["snapshot_id"]
    assert group_status(db, g)["snapshot_next"] == 50
    assert group_status(db, g)["snapshot_at"] == taken_at


def test_p1_lost_holder_cannot_replace_anything(db):
    planned(db)
    first = held(db)
    read(db, first)
    upload = begin(db, first, 101)
    second = take_over(db)
    read(db, second)
    read(db, second)
    kept = snapshot(db, second, 201)
    with refused("LS001"):
        commit(db, first, upload)
    assert current(db, second)["snapshot_id"] == kept
    assert set(stale(db)) == {upload["snapshot_id"]}


def test_p1_commit_in_a_transaction_rolled_back_is_none(db, connect):
    planned(db)
    got = held(db)
    next_range(db, got)
    begun = begin(db, got, 50)
    caller = connect()
    caller.execute("begin")
    commit(caller, got, begun)
    caller.execute("rollback")
    assert current(db, got) is None
    commit(db, got, begun)
    assert current(db, got)["snapshot_id"] == begun["snapshot_id"]


def test_p1_next_holder_gets_the_snapshot_with_the_lease(db):
    planned(db)
    first = held(db)
    read(db, first)
    kept = snapshot(db, first, 101)
    release(db, first)
    second = held(db, "n2")
    assert (second["snapshot_id"], second["snapshot_next"]) == (kept, 101)
    assert current(db, second)["snapshot_id"] == kept


@pytest.mark.parametrize("size", [-1, None])
def test_p1_bytes_that_make_no_sense(db, size):
    planned(db)
    got = held(db)
    begun = begin(db, got, 1)
    with refused("22023"):
        commit(db, got, begun, size)
    assert current(db, got) is None


@pytest.mark.parametrize(
    "checksum", [None, "", "abcdef", "xxh3_128:", ":abcdef", "XXH3_128:ab", "xxh3_128:AB", "a:xyz"]
)
def test_p1_checksum_is_algorithm_and_hex_in_lower_case(db, checksum):
    planned(db)
    got = held(db)
    begun = begin(db, got, 1)
    with refused("22023"):
        commit(db, got, begun, 1, checksum)
    assert current(db, got) is None


@pytest.mark.parametrize("checksum", ["sha256:" + "ab" * 32, "xxh3_128:" + "00" * 16])
def test_p1_either_algorithm(db, checksum):
    planned(db)
    got = held(db)
    commit(db, got, begin(db, got, 1), 0, checksum)
    assert current(db, got)["checksum"] == checksum
    assert current(db, got)["bytes"] == 0


# P2 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("next_id", [101, 102, 150, 200, 201])
def test_p2_within_the_range_in_hand(db, next_id):
    planned(db)
    got = held(db)
    read(db, got)
    next_range(db, got)
    snapshot(db, got, next_id)
    assert current(db, got)["next_id"] == next_id


@pytest.mark.parametrize("next_id", [None, -1, 0, 1, 100, 202, 301, 2**63 - 1])
def test_p2_outside_the_range_in_hand_is_refused(db, next_id):
    planned(db)
    got = held(db)
    read(db, got)
    next_range(db, got)
    before = everything(db)
    with refused("22023"):
        begin(db, got, next_id)
    assert everything(db) == before


@pytest.mark.parametrize("next_id", [0, 1, 101, 201, 301, 5000])
def test_p2_between_ranges_with_none_in_hand(db, next_id):
    planned(db)
    got = held(db)
    read(db, got)
    snapshot(db, got, next_id)
    assert current(db, got)["next_id"] == next_id


@pytest.mark.parametrize("next_id", [None, -1, 2, 50, 100, 102, 200, 300])
def test_p2_inside_a_range_with_none_in_hand_is_refused(db, next_id):
    planned(db)
    got = held(db)
    read(db, got)
    before = everything(db)
    with refused("22023"):
        begin(db, got, next_id)
    assert everything(db) == before


def test_p2_at_a_ranges_resume_point_with_none_in_hand(db):
    planned(db)
    got = held(db)
    handed = next_range(db, got)
    beat(db, got, 40)
    fail(db, got, handed)
    for wrong in (39, 41):
        with refused("22023"):
            begin(db, got, wrong)
    snapshot(db, got, 40)
    assert current(db, got)["next_id"] == 40


def test_p2_other_lanes_and_other_groups_ranges_do_not_matter(db):
    g = planned(db)
    plan(db, g, 1001, 1100, priority=5)
    plan(db, group(db, "other"), 5000, 6000, priority=60, size=10000)
    got = held(db)
    snapshot(db, got, 1050)
    snapshot(db, got, 5500)
    assert current(db, got)["next_id"] == 5500


def test_p2_inside_a_range_that_came_done_is_refused(db):
    g = planned(db, to=100)
    insert_range(db, g, 101, 200, status="done")
    got = held(db)
    with refused("22023"):
        begin(db, got, 150)
    snapshot(db, got, 201)


def test_p2_at_the_end_of_the_numbers(db):
    g = group(db)
    plan(db, g, FAR - 99, FAR)
    got = held(db)
    next_range(db, got)
    snapshot(db, got, FAR + 1)
    assert current(db, got)["next_id"] == FAR + 1


# P3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b", "x'; drop table leases.groups; --", "é"]
)
def test_p3_file_names(db, name):
    g = planned(db, name)
    got = held(db)
    begun = begin(db, got, 1)
    pattern = rf"{g}-history-{begun['snapshot_id']}-[0-9A-Za-z_]+\.gz"
    assert re.fullmatch(pattern, begun["file"])


def test_p3_no_file_name_is_used_twice(db):
    g = planned(db)
    plan(db, g, 1001, 1100, priority=5)
    seen: list[str] = []
    for _ in range(5):
        for lane in ("history", "tail"):
            got = held(db, lane=lane)
            seen += [begin(db, got, 1 if lane == "history" else 1001)["file"] for _ in range(3)]
            release(db, got)
    assert len(set(seen)) == len(seen) == 30


def test_p3_the_random_part_differs_for_the_same_numbers(db, connect):
    planned(db)
    got = held(db)
    files = set()
    caller = connect()
    for _ in range(5):
        caller.execute("begin")
        files.add(begin(caller, got, 1)["file"].rsplit("-", 1)[1])
        caller.execute("rollback")
    assert len(files) == 5


def test_p3_current_stays_whole_until_the_commit(db, connect):
    planned(db)
    got = held(db)
    next_range(db, got)
    snapshot(db, got, 20)
    old = current(db, got)
    begun = begin(db, got, 40)
    assert current(db, got) == old
    assert old["snapshot_id"] not in stale(db)
    caller = connect()
    caller.execute("begin")
    commit(caller, got, begun)
    assert group_status(db, held_group(db))["snapshot_id"] == old["snapshot_id"]
    caller.execute("commit")
    assert current(db, got)["file"] == begun["file"]


def held_group(db):
    return value(db, "select group_id from leases.group_status where lease_id is not null")


# P4 -----------------------------------------------------------------------------------------------


def test_p4_beginning_another_aborts_the_first(db):
    planned(db)
    got = held(db)
    next_range(db, got)
    first, second = begin(db, got, 10), begin(db, got, 20)
    assert stale(db) == {first["snapshot_id"]: first["file"]}
    with refused("LS003"):
        commit(db, got, first)
    commit(db, got, second)
    assert current(db, got)["next_id"] == 20


def test_p4_commit_asked_again_succeeds_while_current_or_kept(db, connect):
    planned(db)
    got = held(db)
    next_range(db, got)
    first = begin(db, got, 10)
    commit(db, got, first)
    shown = current(db, got)
    commit(connect(), got, first)
    assert current(db, got) == shown
    second = snapshot(db, got, 20)
    commit(db, got, first)  # kept
    assert current(db, got)["snapshot_id"] == second
    snapshot(db, got, 30)
    with refused("LS003"):
        commit(db, got, first)  # superseded
    assert current(db, got)["next_id"] == 30


def test_p4_commit_asked_again_leaves_a_pending_one(db):
    planned(db)
    got = held(db)
    next_range(db, got)
    first = begin(db, got, 10)
    commit(db, got, first)
    second = begin(db, got, 20)
    commit(db, got, first)
    commit(db, got, second)
    assert current(db, got)["next_id"] == 20


def test_p4_another_leases_snapshot(db):
    planned(db)
    first = held(db)
    read(db, first)
    kept = snapshot(db, first, 101)
    pending = begin(db, first, 101)
    second = take_over(db)
    for other in (kept, pending):
        with refused("LS003"):
            commit(db, second, other)
        with refused("LS003"):
            abort(db, second, other)
    assert current(db, second)["snapshot_id"] == kept


@pytest.mark.parametrize("snapshot_id", [0, -1, 10**9, None])
def test_p4_snapshot_that_never_was(db, snapshot_id):
    planned(db)
    got = held(db)
    for call in (commit, abort, reject):
        with refused("LS003"):
            call(db, got, snapshot_id)


def test_p4_aborted_snapshot_cannot_be_committed(db):
    planned(db)
    got = held(db)
    begun = begin(db, got, 1)
    abort(db, got, begun)
    assert stale(db) == {begun["snapshot_id"]: begun["file"]}
    with refused("LS003"):
        commit(db, got, begun)
    assert current(db, got) is None
    snapshot(db, got, 1)


def test_p4_committed_snapshot_cannot_be_aborted(db):
    planned(db)
    got = held(db)
    kept = snapshot(db, got, 1)
    with refused("LS003"):
        abort(db, got, kept)
    assert current(db, got)["snapshot_id"] == kept


# P5 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [release, end_lease, lambda db, got: take_over(db)])
def test_p5_pending_snapshot_is_aborted_when_the_lease_ends(db, end):
    planned(db)
    got = held(db)
    next_range(db, got)
    begun = begin(db, got, 10)
    assert stale(db) == {}
    end(db, got)
    assert stale(db) == {begun["snapshot_id"]: begun["file"]}


def test_p5_stale_snapshots_stay_listed_until_they_are_forgotten(db):
    planned(db)
    got = held(db)
    ids = [snapshot(db, got, 1) for _ in range(4)]
    aborted = begin(db, got, 1)["snapshot_id"]
    abort(db, got, aborted)
    assert set(stale(db)) == {*ids[:2], aborted}
    assert set(stale(db)) == {*ids[:2], aborted}
    forget(db, ids[0], aborted)
    assert set(stale(db)) == {ids[1]}
    forget(db, ids[0])  # once more: a lost answer
    forget(db)
    forget(db, 10**9)
    assert set(stale(db)) == {ids[1]}


def test_p5_current_kept_and_pending_cannot_be_forgotten(db):
    planned(db)
    got = held(db)
    first, second = snapshot(db, got, 1), snapshot(db, got, 1)
    pending = begin(db, got, 1)
    assert stale(db) == {}
    with allowing("LS003", "22023"):
        forget(db, first, second, pending["snapshot_id"])
    assert current(db, got)["snapshot_id"] == second
    commit(db, got, pending)
    assert current(db, got)["snapshot_id"] == pending["snapshot_id"]
    reject(db, got, pending)
    assert current(db, got)["snapshot_id"] == second


# P6 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_p6_lane_keeps_its_last_committed_snapshots(db, keep):
    planned(db)
    setting(db, keep_snapshots=keep)
    got = held(db)
    ids = [snapshot(db, got, 1) for _ in range(4)]
    assert set(stale(db)) == set(ids[:-keep])
    for n in range(1, keep):
        assert reject(db, got, ids[-n])["snapshot_id"] == ids[-n - 1]
    assert reject(db, got, ids[-keep]) is None


def three_snapshots(db):
    g = planned(db, to=400)
    got = held(db)
    next_range(db, got)
    older = snapshot(db, got, 51)
    read(db, got)
    next_range(db, got)
    newer = snapshot(db, got, 151)
    read(db, got)
    next_range(db, got)
    return g, got, older, newer


def test_p6_rejected_snapshot_falls_back_to_the_one_before(db):
    g, got, older, newer = three_snapshots(db)
    fallen = reject(db, got, newer)
    assert (fallen["snapshot_id"], fallen["next_id"]) == (older, 51)
    assert current(db, got) == fallen
    assert set(stale(db)) == {newer}
    assert [n for _, n, _ in status(db, g)] == [51, 101, 201, 301]
    assert {s for _, _, s in status(db, g)} == {"planned"}


def test_p6_after_a_rejection_the_range_in_hand_is_dropped(db):
    g, got, _, newer = three_snapshots(db)
    in_hand = group_status(db, g)["range_id"]
    reject(db, got, newer)
    assert group_status(db, g)["range_id"] is None
    with refused("LS002"):
        finish(db, got, in_hand)
    handed = next_range(db, got)
    assert (handed["start_id"], handed["next_id"]) == (1, 51)


def test_p6_rejecting_again_gives_the_same_answer_and_throws_nothing_more_away(db):
    g, got, older, newer = three_snapshots(db)
    fallen = reject(db, got, newer)
    next_range(db, got)
    beat(db, got, 60)
    shown = status(db, g)
    assert reject(db, got, newer) == fallen
    assert current(db, got)["snapshot_id"] == older
    assert status(db, g) == shown


def test_p6_with_none_left_what_is_done_stays_done(db):
    g = planned(db)
    got = held(db)
    read(db, got)
    only = snapshot(db, got, 101)
    read(db, got)
    next_range(db, got)
    beat(db, got, 250)
    assert reject(db, got, only) is None
    assert reject(db, got, only) is None
    assert current(db, got) is None
    assert status(db, g) == [(1, 101, "done"), (101, 201, "done"), (201, 250, "planned")]


def test_p6_rejecting_both_ends_in_one_seam(db):
    g, got, older, newer = three_snapshots(db)
    reject(db, got, newer)
    assert reject(db, got, older) is None
    assert current(db, got) is None
    # nothing was read since the fallback: the ranges lie where the older snapshot had them
    assert [n for _, n, _ in status(db, g)] == [51, 101, 201, 301]
    assert set(stale(db)) == {older, newer}
    assert reject(db, got, newer) is None


def test_p6_falling_back_aborts_a_pending_snapshot(db):
    _, got, _, newer = three_snapshots(db)
    begun = begin(db, got, 210)
    reject(db, got, newer)
    assert set(stale(db)) == {newer, begun["snapshot_id"]}
    with refused("LS003"):
        commit(db, got, begun)


def test_p6_hand_out_stamps_outlive_a_settle(db):
    """Handed out after the older snapshot, before the newer: falling back gives its start."""
    g = planned(db)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    next_range(db, got)
    beat(db, got, 150)
    newer = snapshot(db, got, 150)
    beat(db, got, 170)
    second = take_over(db)
    assert status(db, g)[1] == (101, 150, "planned")
    fallen = reject(db, second, newer)
    assert fallen["next_id"] == 101
    assert status(db, g)[1] == (101, 101, "planned")


def test_p6_newer_snapshot_after_a_fallback_has_its_own_points(db):
    g, got, older, newer = three_snapshots(db)
    reject(db, got, newer)
    next_range(db, got)
    again = snapshot(db, got, 70)
    read(db, got)
    release(db, got)
    assert [n for _, n, _ in status(db, g)] == [70, 101, 201, 301]
    got = held(db)
    assert reject(db, got, again)["snapshot_id"] == older
    assert [n for _, n, _ in status(db, g)] == [51, 101, 201, 301]


def test_p6_fallback_of_a_taker_who_finished_more(db):
    g, _, _, newer = three_snapshots(db)
    second = take_over(db)
    assert [n for _, n, _ in status(db, g)] == [101, 151, 201, 301]
    read(db, second)
    read(db, second)
    reject(db, second, newer)
    assert [n for _, n, _ in status(db, g)] == [51, 101, 201, 301]
    assert group_status(db, g)["ranges_done"] == 0


def test_p6_rejecting_a_superseded_one_throws_nothing_away(db):
    g, got, older, newer = three_snapshots(db)
    latest = snapshot(db, got, 210)  # older is superseded
    shown = status(db, g)
    with allowing("LS003"):
        assert reject(db, got, older)["snapshot_id"] == latest
    assert current(db, got)["snapshot_id"] == latest
    assert status(db, g) == shown
    assert newer not in stale(db)


def test_p6_one_that_was_never_the_lanes(db):
    a = planned(db, "a")
    b = planned(db, "b")
    first, second = held(db, "n1"), held(db, "n2")
    assert {first["group_id"], second["group_id"]} == {a, b}
    others = snapshot(db, first, 1)
    own = snapshot(db, second, 1)
    with refused("LS003"):
        reject(db, second, others)
    assert current(db, second)["snapshot_id"] == own
    assert current(db, first)["snapshot_id"] == others


def test_p6_discard_snapshot_falls_back_and_ends_the_lease(db):
    g, got, older, newer = three_snapshots(db)
    discard(db, g)
    with refused("LS001"):
        beat(db, got)
    assert set(stale(db)) == {newer}
    assert [n for _, n, _ in status(db, g)] == [51, 101, 201, 301]
    second = held(db, "n2")
    assert (second["snapshot_id"], second["snapshot_next"]) == (older, 51)


def test_p6_discard_snapshot_of_a_free_lane(db):
    g, got, older, newer = three_snapshots(db)
    release(db, got)
    discard(db, g)
    assert [n for _, n, _ in status(db, g)] == [51, 101, 201, 301]
    assert group_status(db, g)["snapshot_id"] == older
    discard(db, g)
    assert group_status(db, g)["snapshot_id"] is None
    assert set(stale(db)) == {older, newer}
    assert held(db)["snapshot_id"] is None


def test_p6_discard_makes_a_finished_lane_a_candidate_again(db):
    g = planned(db, to=200)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    read(db, got)
    snapshot(db, got, 201)
    release(db, got)
    discard(db, g)
    assert status(db, g) == [(1, 101, "done"), (101, 101, "planned")]
    assert held(db)["snapshot_next"] == 101
    assert next_range(db, group_status(db, g)["lease_id"])["attempts"] == 1


def test_p6_fallback_does_not_touch_what_the_other_lane_has_since_handed_out(db):
    """A range that went back to its start and on to the other lane is not this lane's any more."""
    g = planned(db, to=200)
    got = held(db)
    read(db, got)
    snapshot(db, got, 101)
    next_range(db, got)
    beat(db, got, 150)
    newer = snapshot(db, got, 150)
    release(db, got)  # 101-200 planned at 150, in history
    db.execute(
        "update leases.ranges set next_id = start_id, priority = 5 "
        "where group_id = %s and start_id = 101",
        (g,),
    )
    assert at(db, g, 101)["lane"] == "tail"
    tail = held(db, "n2", "tail")
    next_range(db, tail)
    beat(db, tail, 180)
    discard(db, g)
    assert newer in stale(db)
    assert (at(db, g, 101)["status"], at(db, g, 101)["next_id"]) == ("leased", 180)
    finish(db, tail, at(db, g, 101))
    assert status(db, g)[1] == (101, 201, "done")


def test_p3_not_even_after_a_restore(db):
    planned(db)
    got = held(db)
    first = begin(db, got, 1)
    after_restore(db)
    second = begin(db, held(db), 1)
    assert second["snapshot_id"] > first["snapshot_id"] + 1000
    assert second["file"] != first["file"]
    assert node(db) is not None


def test_p6_keeping_fewer_supersedes_at_the_next_commit(db):
    planned(db)
    setting(db, keep_snapshots=3)
    got = held(db)
    ids = [snapshot(db, got, 1) for _ in range(3)]
    setting(db, keep_snapshots=1)
    last = snapshot(db, got, 1)
    assert set(stale(db)) == set(ids)
    assert reject(db, got, last) is None


def test_p6_lanes_keep_their_own(db):
    g = planned(db)
    plan(db, g, 1001, 1100, priority=5)
    history, tail = held(db, "n1"), held(db, "n2", "tail")
    own = snapshot(db, history, 1)
    for _ in range(3):
        snapshot(db, tail, 1001)
    assert current(db, history)["snapshot_id"] == own
    discard(db, g, "tail")
    assert current(db, history)["snapshot_id"] == own
