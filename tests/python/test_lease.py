"""Leases and ranges, as a worker sees them."""

import dataclasses
import threading
import time
from datetime import timedelta

import psycopg
import pytest

import pyleases


def test_lease_says_what_it_is_on(leases, lease, group):
    assert (lease.group_id, lease.group_name, lease.group_priority) == (group, "comp.lang.ada", 100)
    assert (lease.lane, lease.ttl) == ("history", timedelta(minutes=2))
    assert (lease.rules_version, lease.rules) == (0, {})
    assert lease.snapshot_id is lease.snapshot_next is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        lease.lane = "tail"


def test_no_group_to_lease_is_none(leases):
    assert leases.lease_group(leases.register_node("indexer-1")) is None


def test_ranges_finishes_each_as_the_loop_comes_round(lease, statuses, db):
    seen = []
    for r in lease.ranges():
        seen.append((r.start_id, r.end_id, r.next_id, statuses()))
        r.headers = 7
    assert seen == [
        (1, 100, 1, ["leased", "planned", "planned"]),
        (101, 200, 101, ["done", "leased", "planned"]),
        (201, 300, 201, ["done", "done", "leased"]),
    ]
    assert statuses() == ["done"] * 3
    (status,) = db.execute("select headers, ranges_done from leases.group_status").fetchall()
    assert (status["headers"], status["ranges_done"]) == (21, 3)


def test_range_whose_body_raises_is_not_finished(lease, statuses):
    with pytest.raises(ZeroDivisionError):
        for _ in lease.ranges():
            1 / 0  # noqa: B018
    assert statuses() == ["leased", "planned", "planned"]


def test_break_leaves_the_range_in_hand(lease, statuses):
    for r in lease.ranges():  # noqa: B007
        break
    assert statuses() == ["leased", "planned", "planned"]
    assert lease.next_range().range_id == r.range_id


def test_progress_moves_the_resume_point(lease):
    r = lease.next_range()
    r.progress(42)
    again = lease.next_range()
    assert (again.range_id, again.next_id, again.attempts) == (r.range_id, 42, 1)
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        r.progress(41)


def test_failed_range_is_put_back_and_not_finished(lease, db, statuses):
    db.execute("update leases.lanes set max_attempts = 2")
    seen = []
    for r in lease.ranges():
        seen.append(r.start_id)
        if r.start_id == 1:
            r.fail("no such article")
    assert seen == [1, 1, 101, 201]
    assert statuses() == ["parked", "done", "done"]
    (error,) = db.execute(
        "select last_error from leases.range_status where status = 'parked'"
    ).fetchall()
    assert error["last_error"] == "no such article"


def test_leaving_the_lease_gives_the_group_back(lease, leases):
    with lease:
        next(lease.ranges())
        assert leases.group_status()[0].lease_id == lease.lease_id
    assert leases.group_status()[0].lease_id is None
    assert lease.lost


def test_error_of_the_body_wins_and_the_group_is_given_back(lease, leases):
    with pytest.raises(ZeroDivisionError), lease:
        1 / 0  # noqa: B018
    assert leases.group_status()[0].lease_id is None


def test_error_of_the_body_wins_over_that_of_giving_back(lease, leases):
    with pytest.raises(ZeroDivisionError) as caught, lease:
        leases.end_lease(lease.lease_id)
        1 / 0  # noqa: B018
    assert "LeaseLost" in caught.value.__notes__[0]


def test_lease_released_in_the_body_is_not_released_again(lease, leases, take):
    with lease:
        lease.release_group()
        other = take("indexer-2")
    assert leases.group_status()[0].lease_id == other.lease_id


def test_leaving_a_lost_lease_says_so(lease, leases):
    with pytest.raises(pyleases.LeaseLost), lease:
        leases.end_lease(lease.lease_id)


def test_h1_every_call_of_a_lost_lease_says_so(lease, leases, take):
    r = lease.next_range()
    leases.end_lease(lease.lease_id)
    take("indexer-2")
    calls = [
        lease.next_range,
        lease.heartbeat,
        lambda: r.progress(5),
        lambda: r.fail("late"),
        lambda: lease.finish_range(r.range_id),
        lambda: lease.finish_and_next(r.range_id, headers=1),
        lambda: lease.begin_snapshot(1),
        lambda: lease.commit_snapshot(1, 0, "sha256:00"),
        lambda: lease.abort_snapshot(1),
        lambda: lease.reject_snapshot(1),
        lease.current_snapshot,
        lambda: lease.put_snapshot(1, b""),
        lease.open_snapshot().__enter__,
        lease.release_group,
    ]
    for call in calls:
        with pytest.raises(pyleases.LeaseLost) as caught:
            call()
        assert caught.value.sqlstate == "LS001"
        assert caught.value.diag.message_hint
    assert lease.lost


def test_lost_is_told_by_a_clock_of_this_machine(lease, db, leases):
    db.execute("update leases.lanes set ttl = '2 seconds'")
    assert not lease.lost
    lease.release_group()
    short = leases.lease_group(leases.register_node("indexer-1"))
    assert not short.lost
    time.sleep(2.1)
    assert short.lost
    short.heartbeat()  # H2: nobody took it, so it is the holder's still
    assert not short.lost


def test_c19_unreachable_database_for_a_ttl_is_a_lost_lease(dsn, db, leases, group):
    db.execute("update leases.lanes set ttl = '2 seconds'")
    with psycopg.connect(dsn, autocommit=True) as connection:
        lease = pyleases.connect(connection).lease_group(leases.register_node("indexer-1"))
        connection.close()
        with pytest.raises(psycopg.OperationalError) as caught:
            lease.heartbeat()
        assert not isinstance(caught.value, pyleases.LeaseLost)
        time.sleep(2.1)
        with pytest.raises(pyleases.LeaseLost):
            lease.heartbeat()


def test_two_threads_of_one_node_share_a_connection(leases, group):
    other = leases.add_group("comp.lang.eiffel")
    leases.plan_ranges(other, 1, 300, 50, size=1)
    node = leases.register_node("indexer-1")
    seen, errors = [], []

    def work(lease):
        try:
            with lease:
                seen.extend((r.start_id, r.end_id) for r in lease.ranges())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[leases.lease_group(node)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(seen) == 303


def test_c39_column_added_later_does_not_disturb_prepared_statements(lease, db):
    r = lease.next_range()
    for _ in range(10):
        lease.next_range()
    db.execute("alter type leases.handed_out add attribute added_later text")
    db.execute(
        """
        create or replace function leases.next_range(lease_id bigint) returns setof leases.handed_out
        language sql security definer set search_path = pg_catalog, leases, pg_temp
        return row(1::bigint, 2::bigint, 3::bigint, 2::bigint, 5, true, 7, 8::bigint, 'new')
            ::leases.handed_out
        """
    )
    later = lease.next_range()
    assert (later.start_id, later.capture, later.rules_version) == (2, True, 8)
    assert r.headers == later.headers == 0
