"""What the views and why_idle show."""

from __future__ import annotations

import time

import pytest

from .helpers import (
    at,
    beat,
    begin,
    commit,
    end_lease,
    fail,
    finish,
    finish_and_next,
    group,
    group_status,
    held,
    insert_range,
    lane_status,
    lease,
    next_range,
    node,
    one,
    pause,
    plan,
    planned,
    publish,
    quietness,
    ranges,
    read,
    release,
    report_catalog,
    rows,
    setting,
    snapshot,
    take_over,
    value,
    why,
)

COLUMNS = {
    "group_status": """
        group_id group_name active lane lease_id node_id node_name node_seen_at leased_at heard_at
        moved_at quiet range_id ranges_offered articles_offered ranges_planned articles_planned
        ranges_parked ranges_done headers snapshot_id snapshot_next snapshot_at""",
    "range_status": """
        range_id group_id lane start_id end_id next_id priority capture status attempts last_error
        rules_version done_at""",
    "lane_status": """
        lane is_open closed_because groups_held groups_quiet groups_waiting articles_offered
        ranges_parked""",
}


@pytest.mark.parametrize("view", COLUMNS)
def test_views_have_the_columns_of_the_contract(db, view):
    cursor = db.execute(f"select * from leases.{view}")
    assert [c.name for c in cursor.description] == COLUMNS[view].split()


def test_why_idle_has_the_columns_of_the_contract(db):
    cursor = db.execute("select * from leases.why_idle(lane => 'history')")
    assert [c.name for c in cursor.description] == ["reason", "groups", "ranges", "hint"]


# range_status -------------------------------------------------------------------------------------


def test_range_status_says_it_in_the_contracts_words(db):
    g = planned(db, to=400, capture=True)
    setting(db, max_attempts=1)
    version = publish(db)
    got = held(db)
    read(db, got)
    fail(db, got, next_range(db, got), "bad")
    next_range(db, got)
    beat(db, got, 222)
    assert [r["status"] for r in ranges(db, g)] == ["done", "parked", "leased", "planned"]
    assert [r["next_id"] for r in ranges(db, g)] == [101, 101, 222, 301]
    assert [r["attempts"] for r in ranges(db, g)] == [1, 1, 1, 0]
    assert [r["last_error"] for r in ranges(db, g)] == [None, "bad", None, None]
    assert [r["rules_version"] for r in ranges(db, g)][:3] == [version] * 3
    assert [r["done_at"] is not None for r in ranges(db, g)] == [True, False, False, False]
    assert {r["lane"] for r in ranges(db, g)} == {"history"}
    assert {r["capture"] for r in ranges(db, g)} == {True}
    # the same wherever it is kept: after a snapshot covers it, and after the lease
    before = ranges(db, g)
    snapshot(db, got, 222)
    assert ranges(db, g) == before
    release(db, got)
    assert ranges(db, g)[0] == before[0]
    assert ranges(db, g)[1] == before[1]
    assert ranges(db, g)[3] == before[3]


def test_range_status_has_each_range_once(db):
    for name in "abc":
        planned(db, name)
    got = held(db)
    read(db, got)
    begin(db, got, 101)
    read(db, got)
    next_range(db, got)
    ids = [r["range_id"] for r in rows(db, "select range_id from leases.range_status")]
    assert len(ids) == len(set(ids)) == 9


# group_status -------------------------------------------------------------------------------------


def test_group_status_has_a_row_for_each_group_and_lane_with_anything_to_do(db):
    a = planned(db, "a")
    plan(db, a, 1001, 1100, priority=5)
    planned(db, "b")
    shown = rows(db, "select group_name, lane from leases.group_status order by group_name, lane")
    assert [(r["group_name"], r["lane"]) for r in shown] == [
        ("a", "history"),
        ("a", "tail"),
        ("b", "history"),
    ]


def test_group_status_keeps_a_lane_that_had_something_to_do(db):
    g = planned(db, to=100)
    got = held(db)
    read(db, got, headers=3)
    release(db, got)
    shown = group_status(db, g)
    assert (shown["ranges_done"], shown["headers"], shown["ranges_planned"]) == (1, 3, 0)


def test_group_status_of_a_free_lane(db):
    g = planned(db)
    shown = group_status(db, g)
    assert shown["active"] is True
    for column in ("lease_id", "node_id", "node_name", "leased_at", "range_id", "snapshot_id"):
        assert shown[column] is None
    assert not shown["quiet"]
    assert (shown["ranges_planned"], shown["articles_planned"]) == (3, 300)
    assert (shown["ranges_offered"], shown["articles_offered"]) == (3, 300)


def test_group_status_inactive(db):
    g = planned(db)
    group(db, active=False)
    assert group_status(db, g)["active"] is False


def test_group_status_planned_but_not_offered(db):
    g = planned(db)
    setting(db, offer_to=40)
    shown = group_status(db, g)
    assert (shown["ranges_planned"], shown["articles_planned"]) == (3, 300)
    assert (shown["ranges_offered"], shown["articles_offered"]) == (0, 0)


def test_group_status_quiet(db):
    g = planned(db)
    held(db)
    assert group_status(db, g)["quiet"] is False
    with quietness(db):
        assert group_status(db, g)["quiet"] is True
        assert lane_status(db)["groups_quiet"] == 1


def moved(db, g):
    return group_status(db, g)["moved_at"]


def test_group_status_moved_at_is_not_moved_by_a_beat(db):
    g = planned(db)
    got = held(db)
    next_range(db, got)
    before = moved(db, g)
    beat(db, got)
    next_range(db, got)
    assert moved(db, g) == before
    assert group_status(db, g)["heard_at"] > before
    beat(db, got, 1)  # no further than it was
    assert moved(db, g) == before


MOVES = {
    "hand-out": (lambda db, z: finish(db, z, z["r"]), lambda db, z: next_range(db, z)),
    "finish": (lambda db, z: None, lambda db, z: finish(db, z, z["r"])),
    "finish_and_next": (lambda db, z: None, lambda db, z: finish_and_next(db, z, z["r"])),
    "resume point": (lambda db, z: None, lambda db, z: beat(db, z, 50)),
    "snapshot": (
        lambda db, z: z.update(s=begin(db, z, 1)),
        lambda db, z: commit(db, z, z["s"]),
    ),
}


@pytest.mark.parametrize("move", MOVES)
def test_group_status_moved_at_is_the_last_move(db, move):
    g = planned(db)
    holder = dict(held(db))
    holder["r"] = next_range(db, holder)
    prepare, call = MOVES[move]
    prepare(db, holder)
    time.sleep(0.01)
    before = value(db, "select clock_timestamp()")
    call(db, holder)
    assert moved(db, g) >= before


# lane_status --------------------------------------------------------------------------------------


def test_lane_status_counts(db):
    for name in "abcd":
        planned(db, name, to=100)
    g = planned(db, "e", to=100)
    insert_range(db, g, 1001, 1100, status="parked")
    group(db, "d", active=False)
    assert {r["lane"] for r in rows(db, "select lane from leases.lane_status")} == {
        "tail",
        "history",
    }
    held(db)
    held(db)
    shown = lane_status(db)
    assert shown["is_open"] is True
    assert shown["closed_because"] is None
    assert shown["groups_held"] == 2
    assert shown["groups_quiet"] == 0
    assert shown["groups_waiting"] == 2
    assert shown["ranges_parked"] == 1
    tail = lane_status(db, "tail")
    assert (tail["groups_held"], tail["groups_waiting"], tail["articles_offered"]) == (0, 0, 0)


def test_lane_status_quiet_holder_with_work_is_waiting(db):
    planned(db, to=100)
    next_range(db, held(db))
    with quietness(db):
        assert lane_status(db)["groups_waiting"] == 1
        assert lane_status(db)["groups_quiet"] == 1


def test_lane_status_closed_by_the_catalog(db):
    planned(db)
    report_catalog(db, 10, 10)
    shown = lane_status(db)
    assert shown["is_open"] is False
    assert shown["closed_because"]


# why_idle -----------------------------------------------------------------------------------------


def reasons(db, lane="history", group_id=None):
    return {r["reason"]: r for r in why(db, lane, group_id)}


def reason(db, word, lane="history", group_id=None):
    found = reasons(db, lane, group_id)
    matching = [r for text, r in found.items() if word in text.lower()]
    assert len(matching) == 1, f"no reason with {word!r} among {list(found)}"
    assert matching[0]["hint"]
    return matching[0]


def test_why_idle_is_empty_while_there_is_something_to_give(db):
    planned(db)
    assert why(db) == []


def test_why_idle_nothing_planned(db):
    reason(db, "nothing planned")
    g = planned(db, to=100)
    reason(db, "nothing planned", "tail")
    got = held(db)
    read(db, got)
    release(db, got)
    reason(db, "nothing planned")
    reason(db, "nothing planned", group_id=g)


def test_why_idle_paused(db):
    g = planned(db)
    pause(db, reason="disks are being changed")
    found = reason(db, "paused")
    assert "disks are being changed" in found["reason"] + found["hint"]
    reason(db, "paused", group_id=g)


def test_why_idle_catalog_full(db):
    planned(db)
    report_catalog(db, 10, 10)
    reason(db, "catalog")


def test_why_idle_held_and_by_whom(db):
    g = planned(db)
    held(db, "indexer-7")
    for group_id in (None, g):
        found = reason(db, "held", group_id=group_id)
        assert "indexer-7" in found["reason"] + found["hint"]
        assert found["groups"] == 1


def test_why_idle_inactive(db):
    g = planned(db)
    planned(db, "b")
    group(db, active=False)
    group(db, "b", active=False)
    found = reason(db, "inactive")
    assert (found["groups"], found["ranges"]) == (2, 6)
    assert reason(db, "inactive", group_id=g)["ranges"] == 3


def test_why_idle_outside_the_offer_bounds(db):
    planned(db)
    setting(db, offer_to=40)
    found = reason(db, "offer")
    assert (found["groups"], found["ranges"]) == (1, 3)


def test_why_idle_not_captured(db):
    planned(db)
    setting(db, capture_only=True)
    found = reason(db, "captur")
    assert (found["groups"], found["ranges"]) == (1, 3)


def test_why_idle_parked(db):
    g = planned(db, to=200)
    db.execute("update leases.ranges set status = 'parked'")
    found = reason(db, "parked")
    assert (found["groups"], found["ranges"]) == (1, 2)
    assert reason(db, "parked", group_id=g)["ranges"] == 2


def test_why_idle_of_a_group_that_is_fine_while_another_is_not(db):
    a, b = planned(db, "a"), planned(db, "b")
    group(db, "a", active=False)
    assert why(db) == []
    reason(db, "inactive", group_id=a)
    assert why(db, group_id=b) == []


def test_why_idle_several_reasons_at_once(db):
    a = planned(db, "a")
    b = planned(db, "b")
    group(db, "b", active=False)
    c = planned(db, "c", to=100)
    db.execute("update leases.ranges set status = 'parked' where group_id = %s", (c,))
    assert held(db)["group_id"] == a
    reason(db, "held")
    assert reason(db, "inactive")["groups"] == 1
    assert reason(db, "parked")["ranges"] == 1
    assert b != c


def test_why_idle_quiet_holder_with_work_is_no_reason(db):
    planned(db, to=100)
    next_range(db, held(db))
    with quietness(db):
        assert why(db) == []


def test_why_idle_changes_nothing(db, connect):
    g = planned(db)
    held(db)
    watcher = connect()
    watcher.execute("set default_transaction_read_only = on")
    assert why(watcher) != []
    assert group_status(watcher, g)["lease_id"] is not None
    assert lane_status(watcher)["groups_held"] == 1
    assert at(watcher, g, 1)["status"] == "planned"


def test_looking_waits_for_nobody(db, connect):
    planned(db)
    planned(db, "b")
    got = held(db)
    busy, watcher = connect(), connect()
    busy.execute("begin")
    next_range(busy, got)
    assert lease(busy, node(busy, "n2")) is not None
    plan(busy, got["group_id"], 5001, 6000)
    watcher.execute("set statement_timeout = '2s'")
    assert len(rows(watcher, "select * from leases.range_status")) == 6
    assert len(rows(watcher, "select * from leases.group_status")) == 2
    why(watcher)
    lane_status(watcher)
    busy.execute("rollback")


def test_looking_figures_agree_with_each_other(db):
    g = planned(db, to=500)
    setting(db, max_attempts=1)
    got = held(db)
    read(db, got, headers=1)
    fail(db, got, next_range(db, got))
    next_range(db, got)
    shown, all_ranges = group_status(db, g), ranges(db, g)
    by_status = {
        s: [r for r in all_ranges if r["status"] == s] for s in ("planned", "parked", "done")
    }
    assert shown["ranges_planned"] == len(by_status["planned"])
    assert shown["articles_planned"] == sum(
        r["end_id"] - r["next_id"] + 1 for r in by_status["planned"]
    )
    assert shown["ranges_parked"] == len(by_status["parked"])
    assert shown["ranges_done"] == len(by_status["done"])
    end_lease(db, got)
    assert group_status(db, g)["ranges_parked"] == 2  # end_lease parks, too (F4)


def test_looking_node_seen_at(db):
    g = planned(db)
    n1 = node(db)
    first = lease(db, n1)
    seen = group_status(db, g)["node_seen_at"]
    assert seen is not None
    release(db, first)
    lease(db, n1)
    assert group_status(db, g)["node_seen_at"] > seen


def test_looking_after_a_takeover_names_the_new_holder(db):
    g = planned(db)
    handed = next_range(db, held(db, "old"))
    take_over(db, "new")
    shown = group_status(db, g)
    assert (shown["node_name"], shown["range_id"]) == ("new", None)
    assert one(db, handed)["status"] == "planned"


FUNCTIONS = {
    "lease_group(node_id => 1, lane => 'history')": """
        lease_id group_id group_name group_priority lane rules_version rules ttl snapshot_id
        snapshot_next""",
    "next_range(lease_id => 1)": """
        range_id start_id end_id next_id priority capture attempts rules_version""",
    "finish_and_next(lease_id => 1, range_id => 1, headers => 0)": """
        range_id start_id end_id next_id priority capture attempts rules_version""",
    "begin_snapshot(lease_id => 1, next_id => 1)": "snapshot_id file",
    "current_snapshot(lease_id => 1)": "snapshot_id next_id file bytes checksum taken_at",
    "reject_snapshot(lease_id => 1, snapshot_id => 1)": """
        snapshot_id next_id file bytes checksum taken_at""",
    "stale_snapshots()": "snapshot_id file",
}


@pytest.mark.parametrize("call", FUNCTIONS)
def test_functions_have_the_columns_of_the_contract(db, call):
    cursor = db.execute(f"select * from leases.{call} limit 0")
    assert [c.name for c in cursor.description] == FUNCTIONS[call].split()
