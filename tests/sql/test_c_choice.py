"""Rules C: which group a lease takes."""

from __future__ import annotations

import time

import pytest

from pyleases import devserver, migrate

from .helpers import (
    Background,
    allowing,
    at,
    beat,
    everything,
    fail,
    finish,
    group,
    group_status,
    held,
    impatient,
    insert_range,
    lane_status,
    lease,
    next_range,
    node,
    one,
    open_transaction,
    pause,
    plan,
    planned,
    quietness,
    read,
    refused,
    release,
    report_catalog,
    resume,
    row,
    rows,
    setting,
    snapshot,
    status,
    take_over,
    value,
)

# C1 -----------------------------------------------------------------------------------------------


def test_c1_planned_range_with_articles_left_is_offered(db):
    g = planned(db)
    got = held(db)
    assert got["group_id"] == g
    assert got["group_name"] == "comp.demo"
    assert got["group_priority"] == 100
    assert got["lane"] == "history"
    assert got["snapshot_id"] is None
    assert got["snapshot_next"] is None
    assert got["rules"] == {}
    assert got["ttl"].total_seconds() == 120


def test_c1_done_and_parked_ranges_are_not_offered(db):
    g = group(db)
    insert_range(db, g, 1, 100, status="done", next_id=101)
    insert_range(db, g, 101, 200, status="parked", next_id=101)
    assert lease(db, node(db)) is None
    assert lane_status(db)["articles_offered"] == 0


def test_c1_planned_range_with_nothing_left_is_not_offered(db):
    g = group(db)
    insert_range(db, g, 1, 100, next_id=101)
    assert lease(db, node(db)) is None


def test_c1_offer_bounds_hold_ranges_back(db):
    g = group(db)
    plan(db, g, 1, 100, priority=20)
    plan(db, g, 101, 200, priority=30)
    plan(db, g, 201, 300, priority=40)
    setting(db, offer_from=25, offer_to=35)
    got = held(db)
    assert next_range(db, got)["start_id"] == 101
    finish(db, got, at(db, g, 101))
    assert next_range(db, got) is None
    release(db, got)
    assert lease(db, node(db)) is None
    setting(db, offer_from=None, offer_to=25)
    got = held(db)
    assert next_range(db, got)["start_id"] == 1


def test_c1_offer_bounds_are_inclusive(db):
    g = group(db)
    plan(db, g, 1, 100, priority=20)
    setting(db, offer_from=20, offer_to=20)
    assert held(db)["group_id"] == g


def test_c1_capture_only_hands_out_only_captured_ranges(db):
    g = group(db)
    plan(db, g, 1, 100)
    plan(db, g, 101, 200, capture=True)
    setting(db, capture_only=True)
    got = held(db)
    handed = next_range(db, got)
    assert (handed["start_id"], handed["capture"]) == (101, True)
    finish(db, got, handed)
    assert next_range(db, got) is None
    setting(db, capture_only=False)
    assert next_range(db, got)["start_id"] == 1


def test_c1_lanes_are_bands_of_priorities(db):
    g = group(db)
    plan(db, g, 1, 100, priority=11)
    plan(db, g, 101, 200, priority=10)
    assert next_range(db, held(db, lane="tail"))["start_id"] == 101
    assert next_range(db, held(db, lane="history"))["start_id"] == 1
    assert value(db, "select leases.lane_of(priority => 10)") == "tail"
    assert value(db, "select leases.lane_of(priority => 11)") == "history"
    assert value(db, "select leases.lane_of(priority => %s)", -(2**31)) == "tail"
    assert value(db, "select leases.lane_of(priority => %s)", 2**31 - 1) == "history"


# C2 -----------------------------------------------------------------------------------------------


def test_c2_inactive_group_is_not_free(db):
    planned(db)
    group(db, active=False)
    assert lease(db, node(db)) is None
    group(db, active=True)
    assert lease(db, node(db)) is not None


def test_c2_inactive_by_plain_update(db):
    g = planned(db)
    db.execute("update leases.groups set active = false where group_id = %s", (g,))
    assert lease(db, node(db)) is None
    db.execute("update leases.groups set active = true where group_id = %s", (g,))
    assert lease(db, node(db)) is not None


def test_c2_held_lane_is_not_free(db):
    planned(db)
    held(db)
    assert lease(db, node(db, "n2")) is None


def test_c2_quiet_holders_range_in_hand_counts(db):
    g = planned(db, to=100)
    first = held(db)
    next_range(db, first)
    second = take_over(db)
    assert second["group_id"] == g
    assert second["lease_id"] > first["lease_id"]
    assert status(db, g) == [(1, 1, "planned")]


def test_c2_ranges_finished_after_the_snapshot_count(db):
    g = planned(db, to=200)
    first = held(db)
    read(db, first)
    snapshot(db, first, 101)
    read(db, first)
    assert {r["status"] for r in status_rows(db, g)} == {"done"}
    assert take_over(db)["group_id"] == g
    assert status(db, g) == [(1, 101, "done"), (101, 101, "planned")]


def status_rows(db, g):
    return rows(db, "select status from leases.range_status where group_id = %s", g)


def test_c2_quiet_holder_with_everything_covered_is_no_candidate(db):
    planned(db, to=100)
    first = held(db)
    read(db, first)
    snapshot(db, first, 101)
    with quietness(db):
        assert lease(db, node(db, "n2")) is None


def test_c2_quiet_holders_parked_range_in_hand_is_no_candidate(db):
    g = planned(db, to=100)
    setting(db, max_attempts=1)
    next_range(db, held(db))
    with quietness(db):
        assert lease(db, node(db, "n2")) is None
    assert status(db, g) == [(1, 1, "parked")]


def test_c2_range_in_hand_outside_the_offer_bounds_is_no_candidate(db):
    g = planned(db, to=100, priority=50)
    next_range(db, held(db))
    setting(db, offer_to=40)
    with quietness(db):
        assert lease(db, node(db, "n2")) is None
    setting(db, offer_to=None)
    assert held(db, "n2")["group_id"] == g


# C3 -----------------------------------------------------------------------------------------------


def test_c3_most_urgent_range_wins_over_size(db):
    big, urgent = group(db, "big"), group(db, "urgent")
    plan(db, big, 1, 100_000, priority=50, size=10_000)
    plan(db, urgent, 1, 10, priority=49)
    assert held(db)["group_id"] == urgent
    assert held(db)["group_id"] == big


def test_c3_range_priority_comes_before_group_priority(db):
    a, b = group(db, "a", priority=1), group(db, "b", priority=900)
    plan(db, a, 1, 10, priority=50)
    plan(db, b, 1, 10, priority=40)
    assert held(db)["group_id"] == b


def test_c3_ties_go_by_group_priority_then_group_id(db):
    late = group(db, "late", priority=100)
    later = group(db, "later", priority=100)
    urgent = group(db, "urgent", priority=5)
    for g in (later, urgent, late):
        plan(db, g, 1, 100)
    assert [held(db)["group_id"] for _ in range(3)] == [urgent, late, later]


def test_c3_group_priority_changed_by_plain_update_counts(db):
    a, b = planned(db, "a"), planned(db, "b")
    db.execute("update leases.groups set priority = 1 where group_id = %s", (b,))
    assert held(db)["group_id"] == b
    assert held(db)["group_id"] == a


class Model:
    """C3 and C4 in a few lines: groups of one priority, leased and given back untouched."""

    def __init__(self, sizes: dict[int, int], turn: str) -> None:
        self.sizes, self.turn, self.clock = sizes, turn, 0
        self.heard: dict[int, int] = dict.fromkeys(sizes, -1)

    def grant(self) -> int:
        if self.turn == "biggest":
            got = min(self.sizes, key=lambda g: (-self.sizes[g], g))
        else:
            got = min(self.sizes, key=lambda g: (self.heard[g], g))
        self.turn = "longest" if self.turn == "biggest" else "biggest"
        self.clock += 1
        self.heard[got] = self.clock
        return got


def sized(db, lane_priority=50):
    """Make four groups of one priority: a size of their own each."""
    sizes = {}
    for name, articles in (("a", 30), ("b", 500), ("c", 20), ("d", 40)):
        g = group(db, name)
        plan(db, g, 1, articles, priority=lane_priority, size=1000)
        sizes[g] = articles
    return sizes


def models(sizes):
    return Model(sizes, "biggest"), Model(sizes, "longest")


def lease_and_release(db, lane="history"):
    got = held(db, lane=lane)
    release(db, got)
    return got["group_id"]


def test_c3_biggest_and_longest_unheld_take_turns(db):
    sizes = sized(db)
    got = [lease_and_release(db) for _ in range(12)]
    assert got in [[m.grant() for _ in range(12)] for m in models(sizes)]


def test_c3_longest_unheld_goes_by_when_it_was_last_heard(db):
    sizes = sized(db)
    leases = [held(db) for _ in sizes]  # all four, in some order
    release(db, leases[0])
    for other in leases[1:]:
        beat(db, other)
        release(db, other)
    # the next two grants are one of each order; leases[0]'s was heard of longest ago
    biggest = max(sizes, key=lambda g: sizes[g])
    got = [lease_and_release(db), lease_and_release(db)]
    assert biggest in got
    if leases[0]["group_id"] != biggest:
        assert leases[0]["group_id"] in got


def test_c3_biggest_counts_articles_left_not_ranges(db):
    many, few = group(db, "many"), group(db, "few")
    plan(db, many, 1, 100, size=1)
    plan(db, few, 1, 101, size=1000)
    got = [lease_and_release(db), lease_and_release(db), lease_and_release(db)]
    # never-held first by id gives many, biggest gives few: both turns are seen
    assert got in ([few, many, few], [many, few, many])


def test_c3_only_the_offered_articles_count_for_biggest(db):
    a, b = group(db, "a"), group(db, "b")
    plan(db, a, 1, 10, priority=50)
    plan(db, a, 11, 10_000, priority=60, size=10_000)
    plan(db, b, 1, 20, priority=50)
    setting(db, offer_to=55)
    got = [lease_and_release(db) for _ in range(4)]
    assert got in [[m.grant() for _ in range(4)] for m in models({a: 10, b: 20})]


def test_c3_resume_point_counts_for_biggest(db):
    a, b = group(db, "a"), group(db, "b")
    insert_range(db, a, 1, 1000, next_id=995)
    insert_range(db, b, 1, 20)
    got = [lease_and_release(db) for _ in range(4)]
    assert got in [[m.grant() for _ in range(4)] for m in models({a: 6, b: 20})]


# C4 -----------------------------------------------------------------------------------------------


def test_c4_polls_that_find_nothing_do_not_move_the_turn(db):
    sizes = sized(db)
    n1 = node(db)
    got = []
    for n in range(10):
        pause(db)
        for _ in range(n % 3 + 1):
            assert lease(db, n1) is None
        resume(db)
        got.append(lease_and_release(db))
    assert got in [[m.grant() for _ in range(10)] for m in models(sizes)]


def test_c4_polls_while_all_is_held_do_not_move_the_turn(db):
    a, b = group(db, "a"), group(db, "b")
    plan(db, a, 1, 10)
    plan(db, b, 1, 20)
    n1 = node(db)
    first, second = lease(db, n1), lease(db, n1)
    for _ in range(3):
        assert lease(db, n1) is None
    release(db, first)
    release(db, second)
    got = [first["group_id"], second["group_id"]] + [lease_and_release(db) for _ in range(2)]
    # heard: first, then second. Turns 1 and 3 are one order, 2 and 4 the other.
    if first["group_id"] == b:  # the biggest had turn 1
        assert got[2] == b
        assert got[3] == a
    else:  # never held and lowest id: the longest unheld had turn 1
        assert got == [a, b, a, b]


def test_c4_grants_rolled_back_do_not_move_the_turn(db, connect):
    sizes = sized(db)
    other = connect()
    n1 = node(db)
    got = []
    for n in range(8):
        for _ in range(n % 3 + 1):
            other.execute("begin")
            assert lease(other, n1) is not None
            other.execute("rollback")
        got.append(lease_and_release(db))
    assert got in [[m.grant() for _ in range(8)] for m in models(sizes)]


def test_c4_the_other_lanes_leases_do_not_move_the_turn(db):
    sizes = sized(db)
    for g in sizes:
        plan(db, g, 10_001, 10_010, priority=5)
    got = []
    for n in range(8):
        for _ in range(n % 3 + 1):
            lease_and_release(db, "tail")
        got.append(lease_and_release(db))
    assert got in [[m.grant() for _ in range(8)] for m in models(sizes)]


# C5 -----------------------------------------------------------------------------------------------


def test_c5_paused_lane_grants_nothing_and_disturbs_no_holder(db):
    planned(db, "a")
    planned(db, "b")
    got = held(db)
    pause(db)
    assert lease(db, node(db, "n2")) is None
    assert read(db, got)["start_id"] == 1
    beat(db, got)
    snapshot(db, got, 101)
    resume(db)
    assert lease(db, node(db, "n2")) is not None


def test_c5_pausing_one_lane_leaves_the_other(db):
    g = planned(db)
    plan(db, g, 1001, 1100, priority=5)
    pause(db, "history")
    assert lease(db, node(db), "tail") is not None
    assert lease(db, node(db), "history") is None


def test_c5_paused_lane_shows_its_reason(db):
    planned(db)
    pause(db, reason="disks are being changed")
    shown = lane_status(db)
    assert shown["is_open"] is False
    assert "disks are being changed" in shown["closed_because"]
    resume(db)
    shown = lane_status(db)
    assert (shown["is_open"], shown["closed_because"]) == (True, None)


@pytest.mark.parametrize(("used", "grants"), [(99, True), (100, False), (101, False)])
def test_c5_lane_yields_to_a_catalog_at_its_cap(db, used, grants):
    g = planned(db)
    plan(db, g, 1001, 1100, priority=5)
    report_catalog(db, used, 100)
    assert (lease(db, node(db)) is not None) is grants
    assert lease(db, node(db), "tail") is not None  # the tail does not yield
    assert lane_status(db)["is_open"] is grants
    assert lane_status(db, "tail")["is_open"] is True


def test_c5_full_catalog_disturbs_no_holder_and_opens_again(db):
    planned(db, "a")
    planned(db, "b")
    got = held(db)
    report_catalog(db, 100, 100)
    assert lease(db, node(db, "n2")) is None
    read(db, got)
    report_catalog(db, 50, 100)
    assert lease(db, node(db, "n2")) is not None


def test_c5_closed_lane_takes_nothing_over(db):
    planned(db)
    got = held(db)
    handed = next_range(db, got)
    pause(db)
    with quietness(db):
        assert lease(db, node(db, "n2")) is None
        finish(db, got, handed)


# C6 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
def test_c6_second_of_two_calls_takes_the_next_candidate_without_waiting(db, connect, isolation):
    a, b = planned(db, "a", to=300), planned(db, "b", to=200)
    one_, two = connect(), impatient(connect())
    n1, n2 = node(db, "n1"), node(db, "n2")
    open_transaction(one_, isolation)
    open_transaction(two, isolation)
    first = lease(one_, n1)
    second = lease(two, n2)
    assert {first["group_id"], second["group_id"]} == {a, b}
    two.execute("commit")
    one_.execute("commit")
    assert group_status(db, a)["lease_id"] is not None
    assert group_status(db, b)["lease_id"] is not None


def test_c6_second_of_two_calls_gets_nothing_where_there_is_nothing_else(db, connect):
    planned(db)
    first, second = connect(), impatient(connect())
    n1, n2 = node(db, "n1"), node(db, "n2")
    first.execute("begin")
    assert lease(first, n1) is not None
    assert lease(second, n2) is None
    first.execute("rollback")
    assert lease(second, n2) is not None


def test_c6_two_calls_for_one_node_do_not_wait_for_each_other(db, connect):
    planned(db, "a")
    planned(db, "b")
    first, second = connect(), impatient(connect())
    n1 = node(db)
    first.execute("begin")
    assert lease(first, n1) is not None
    assert lease(second, n1) is not None
    first.execute("commit")


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_c6_a_snapshot_older_than_a_grant_gives_no_second_grant(db, connect, isolation):
    g = planned(db)
    n1, n2 = node(db, "n1"), node(db, "n2")
    late = open_transaction(connect(), isolation)
    first = lease(db, n1)
    with allowing("40001"):
        assert lease(late, n2) is None
        late.execute("commit")
    assert group_status(db, g)["lease_id"] == first["lease_id"]
    assert next_range(db, first) is not None


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_c6_nor_when_the_grant_was_trimmed_from_the_log(db, connect, isolation):
    g = planned(db)
    n1, n2 = node(db, "n1"), node(db, "n2")
    for _ in range(2):  # the next turn is an odd one, and two grants meet on nothing else
        release(db, lease(db, n1))
    late = open_transaction(connect(), isolation)
    first = lease(db, n1)
    r = next_range(db, first)
    for _ in range(3):
        snapshot(db, first, r["start_id"])
    with refused("40001"):
        lease(late, n2)
    late.execute("rollback")
    assert group_status(db, g)["lease_id"] == first["lease_id"]


def test_c6_many_at_once_each_get_their_own(db, connect):
    for n in range(6):
        planned(db, f"g{n}", to=100)
    nodes = [node(db, f"n{n}") for n in range(6)]
    connections = [connect() for _ in nodes]
    calls = [
        Background(lambda c=c, n=n: lease(c, n)) for c, n in zip(connections, nodes, strict=True)
    ]
    got = [call.wait() for call in calls]
    assert None not in got
    assert len({r["group_id"] for r in got}) == 6


def test_c6_more_callers_than_groups_share_out_what_there_is(db, connect):
    for n in range(3):
        planned(db, f"g{n}", to=100)
    nodes = [node(db, f"n{n}") for n in range(6)]
    connections = [connect() for _ in nodes]
    calls = [
        Background(lambda c=c, n=n: lease(c, n)) for c, n in zip(connections, nodes, strict=True)
    ]
    got = [r["group_id"] for r in (call.wait() for call in calls) if r]
    assert len(got) == len(set(got))
    left = [lease(db, nodes[0]) for _ in range(3)]
    assert len(got) + len([r for r in left if r]) == 3


def test_c6_many_candidates_in_other_calls_are_passed_over_in_time(db, connect):
    # another call adds up what was planned again, in an open transaction, and lanes are in use as well
    plan_all = """
        select leases.plan_ranges(leases.add_group('g' || n), 1, %s * n, 50)
        from generate_series(1, 1500) n"""
    db.execute(plan_all, [1])
    release(db, held(db, "n1"))
    db.execute(plan_all, [2])
    other = connect(autocommit=False)
    assert held(other, "n1") is not None
    other.execute("""
        select from leases.group_lanes where group_id in (
            select group_id from leases.groups where name !~ '^g7[0-9][0-9]$'
            order by group_id) for update""")
    db.execute("set statement_timeout = '10s'")
    assert held(db, "n2")["group_name"] in ("g799", "g700")


def test_c6_one_groups_lanes_can_be_held_by_two_nodes(db):
    g = planned(db)
    plan(db, g, 1001, 1100, priority=5)
    a, b = held(db, "n1", "tail"), held(db, "n2", "history")
    assert a["group_id"] == b["group_id"] == g
    assert read(db, a)["start_id"] == 1001
    assert read(db, b)["start_id"] == 1


def test_c6_two_takeovers_at_once_are_one(db, connect):
    g = planned(db, to=100)
    next_range(db, held(db))
    n2, n3 = node(db, "n2"), node(db, "n3")
    two, three = connect(), impatient(connect())
    with quietness(db):
        two.execute("begin")
        taken = lease(two, n2)
        assert taken is not None
        assert lease(three, n3) is None
        two.execute("commit")
    assert group_status(db, g)["lease_id"] == taken["lease_id"]


# C7 -----------------------------------------------------------------------------------------------


def test_c7_a_grant_gives_a_larger_lease_id_each_time(db):
    planned(db)
    ids = []
    for _ in range(4):
        got = held(db)
        ids.append(got["lease_id"])
        release(db, got)
    assert ids == sorted(set(ids))


def test_c7_a_grant_settles_the_lane(db):
    g = planned(db, to=300)
    first = held(db)
    read(db, first)
    snapshot(db, first, 101)
    read(db, first)
    beat(db, first, next_range(db, first)["start_id"] + 5)
    second = take_over(db)
    assert (second["snapshot_next"], second["group_id"]) == (101, g)
    assert second["snapshot_id"] is not None
    assert status(db, g) == [(1, 101, "done"), (101, 101, "planned"), (201, 201, "planned")]


def test_c7_a_grant_marks_the_node_as_seen(db):
    g = planned(db)
    n1 = node(db)
    before = value(db, "select clock_timestamp()")
    got = lease(db, n1)
    shown = group_status(db, g)
    assert (shown["lease_id"], shown["node_id"], shown["node_name"]) == (got["lease_id"], n1, "n1")
    assert shown["node_seen_at"] >= before
    assert shown["leased_at"] >= before
    assert shown["heard_at"] >= before


# C8 -----------------------------------------------------------------------------------------------


def test_c8_quiet_holder_with_nothing_to_offer_is_let_go(db):
    g = planned(db, to=100)
    first = held(db)
    read(db, first, headers=7)
    snapshot(db, first, 101)
    with quietness(db):
        assert lease(db, node(db, "n2")) is None
    shown = group_status(db, g)
    assert (shown["lease_id"], shown["node_id"], shown["ranges_done"]) == (None, None, 1)
    assert lane_status(db)["groups_held"] == 0
    with refused("LS001"):
        beat(db, first)


def test_c8_a_bounded_number_a_call_but_all_in_the_end(db):
    for n in range(30):
        g = planned(db, f"g{n}", to=10)
        first = held(db)
        assert first["group_id"] == g
        read(db, first)
        snapshot(db, first, 11)
    with quietness(db):
        n2 = node(db, "n2")
        for _ in range(31):
            assert lease(db, n2) is None
            if lane_status(db)["groups_held"] == 0:
                break
    assert lane_status(db)["groups_held"] == 0


def test_c8_settling_parks_the_range_that_killed_its_holder(db):
    g = planned(db, to=100)
    setting(db, max_attempts=1)
    first = held(db)
    next_range(db, first)
    beat(db, first, 40)
    with quietness(db):
        assert lease(db, node(db, "n2")) is None
    assert status(db, g) == [(1, 40, "parked")]
    assert at(db, g, 1)["last_error"]
    assert group_status(db, g)["lease_id"] is None


# C9 -----------------------------------------------------------------------------------------------


@pytest.mark.timeout(90)
def test_c9_after_a_restart_holders_get_a_full_ttl_before_they_count_as_quiet():
    import psycopg
    from psycopg.rows import dict_row

    with devserver.server() as running:

        def connection():
            return psycopg.connect(running.dsn(), autocommit=True, row_factory=dict_row)

        migrate.migrate(running.dsn())
        with connection() as db:
            g = planned(db, to=100)
            setting(db, ttl="3 seconds")
            first = held(db)
            next_range(db, first)
            n2 = node(db, "n2")
        running.stop("fast")
        time.sleep(3.2)
        running.start()
        with connection() as db:
            assert lease(db, n2) is None, "taken over at once after the server came back"
            assert group_status(db, g)["quiet"] is False
        with connection() as db:
            # an old holder that never comes back is taken over a full ttl after the start
            deadline = time.monotonic() + 6
            while not (got := lease(db, n2)) and time.monotonic() < deadline:
                time.sleep(0.2)
            assert got is not None
            assert got["group_id"] == g
            up = value(
                db, "select extract(epoch from clock_timestamp() - pg_postmaster_start_time())"
            )
            assert up >= 3


def set_heard(db, group_id, interval):
    db.execute(
        """update leases.progress as p set heard_at = clock_timestamp() + %s::interval
           where (p.group_id, p.lane, p.seq) = (
               select q.group_id, q.lane, q.seq from leases.progress as q
               where q.group_id = %s and q.lane = 'history' order by q.seq desc limit 1)""",
        (interval, group_id),
    )


def test_c2_quiet_holders_of_many_turns_ago_are_all_taken_over(db):
    groups = {planned(db, f"g{n}", to=100 + n) for n in range(50)}
    for _ in groups:
        next_range(db, held(db))
    n2 = node(db, "n2")
    assert lease(db, n2) is None
    setting(db, "history", ttl="8 seconds")
    db.execute("select pg_sleep_until(pg_postmaster_start_time() + interval '9 seconds')")  # C9
    for table, column in (
        ("progress", "heard_at"),
        ("choices", "heard_at"),
        ("grants", "granted_at"),
    ):
        db.execute(f"update leases.{table} set {column} = {column} - interval '1 day'")
    assert {held(db, "n2")["group_id"] for _ in groups} == groups
    assert lease(db, n2) is None


def test_c9_heard_in_the_future_counts_as_heard_when_it_is_found(db):
    g = planned(db, to=100)
    first = held(db)
    next_range(db, first)
    n2 = node(db, "n2")
    set_heard(db, g, "8 hours")
    with quietness(db):
        assert lease(db, n2) is None  # found now: heard now
        time.sleep(0.6)
        got = lease(db, n2)
        assert got is not None, "a stamp in the future kept the dead alive"
        assert got["group_id"] == g


def test_c9_holder_with_a_heard_time_in_the_future_is_heard_by_its_own_calls(db):
    g = planned(db, to=100)
    first = held(db)
    handed = next_range(db, first)
    set_heard(db, g, "8 hours")
    beat(db, first)
    assert group_status(db, g)["heard_at"] <= value(db, "select clock_timestamp()")
    finish(db, first, handed)


def test_c9_future_stamp_of_a_free_lane_does_not_starve_it(db):
    g = planned(db, to=100)
    release(db, held(db))
    set_heard(db, g, "8 hours")
    assert lease(db, node(db))["group_id"] == g


def test_c_a_call_that_grants_nothing_changes_nothing(db):
    planned(db)
    held(db)
    n2 = node(db, "n2")
    before = everything(db)
    assert lease(db, n2) is None
    assert everything(db) == before


def test_c_failed_range_of_a_free_group_is_a_candidate_again(db):
    g = planned(db, to=100)
    first = held(db)
    handed = next_range(db, first)
    fail(db, first, handed)
    release(db, first)
    assert held(db)["group_id"] == g
    assert one(db, handed)["attempts"] == 1


def test_c3_quiet_lane_ranks_by_what_it_would_offer_when_settled(db):
    urgent = planned(db, "urgent", to=100, priority=20)
    next_range(db, held(db))
    big = planned(db, "big", to=5000, priority=50)
    assert take_over(db)["group_id"] == urgent
    assert held(db, "n3")["group_id"] == big


def test_c3_quiet_lane_is_as_big_as_when_settled(db):
    quiet_one, free_one = group(db, "quiet"), group(db, "free")
    plan(db, quiet_one, 1, 1000)
    plan(db, free_one, 1, 500)
    first = held(db)
    if first["group_id"] != quiet_one:
        first, other = held(db), first
        release(db, other)
    snapshot(db, first, 1)
    for _ in range(10):
        read(db, first)
    group(db, "free", active=False)
    with quietness(db):
        group(db, "free", active=True)
        n2 = node(db, "n2")
        got = [lease(db, n2)["group_id"] for _ in range(2)]
    assert sorted(got) == sorted([quiet_one, free_one])
    assert group_status(db, quiet_one)["articles_offered"] == 1000


def test_c8_finds_the_dead_also_while_there_is_something_to_give(db):
    done = planned(db, "done", to=100)
    first = held(db)
    read(db, first)
    snapshot(db, first, 101)
    for name in "abcd":
        planned(db, name, to=100)
    with quietness(db):
        n2 = node(db, "n2")
        while lease(db, n2):
            pass
    assert group_status(db, done)["lease_id"] is None


def test_c_lane_defaults_to_history(db):
    g = planned(db)
    got = row(db, "select * from leases.lease_group(node_id => %s)", node(db))
    assert (got["group_id"], got["lane"]) == (g, "history")


def test_c6_changed_settings_make_two_calls_at_once_neither_wait_nor_fail(db, connect):
    ids = [planned(db, f"g{n}", to=100 * n) for n in (1, 2, 3)]
    n = node(db)
    db.execute("update leases.lanes set offer_to = 60 where lane = 'history'")
    first, second = connect(autocommit=False), connect()
    second.execute("set lock_timeout = '1s'")
    got = [lease(first, n), lease(second, n), lease(second, n)]
    assert sorted(g["group_id"] for g in got if g) == sorted(ids)
    assert lease(second, n) is None
    first.rollback()
    again = lease(second, n)
    assert again is not None
    assert again["group_id"] == got[0]["group_id"]
