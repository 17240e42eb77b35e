"""Every function that is not a lease's, once, with what it gives."""

from datetime import datetime

import pytest

import pyleases


def test_every_function_has_a_method(db):
    functions = {
        row["proname"]
        for row in db.execute(
            "select proname from pg_proc where pronamespace = 'leases'::regnamespace "
            "and proname not like E'\\\\_%' and prorettype <> 'trigger'::regtype"
        )
    }
    methods = set(dir(pyleases.Leases)) | set(dir(pyleases.Lease))
    assert functions - methods == set()


def test_rows_have_every_column_that_the_database_has(db):
    for row, relation in [
        (pyleases.GroupStatus, "group_status"),
        (pyleases.RangeStatus, "range_status"),
        (pyleases.LaneStatus, "lane_status"),
        (pyleases.Snapshot, "snapshot"),
        (pyleases.StaleSnapshot, "snapshot_begun"),
        (pyleases.IdleReason, "idle_reason"),
    ]:
        columns = db.execute(
            "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 order by attnum",
            [f"leases.{relation}"],
        ).fetchall()
        assert [c["attname"] for c in columns] == list(row.__dataclass_fields__)


def test_nodes(leases, group):
    node = leases.register_node("indexer-1")
    assert leases.register_node("indexer-1") == node
    assert leases.release_node(node) == 0
    leases.lease_group(node)
    assert leases.release_node(node) == 1


def test_planning(leases):
    group = leases.add_group("comp.lang.ada", priority=7)
    assert leases.add_group("comp.lang.ada", active=False) == group
    assert leases.plan_ranges(group, 1, 25, 5, capture=True, size=10) == 25
    assert leases.plan_ranges(group, 1, 30, 5, size=10) == 5
    ranges = leases.range_status(group)
    assert [(r.start_id, r.end_id, r.lane, r.capture) for r in ranges] == [
        (1, 10, "tail", True),
        (11, 20, "tail", True),
        (21, 25, "tail", True),
        (26, 30, "tail", False),
    ]
    assert leases.set_priority(group, 1, 22, 60) == 2
    assert [r.lane for r in leases.range_status()] == ["history", "history", "tail", "tail"]
    assert (leases.lane_of(10), leases.lane_of(11)) == ("tail", "history")


def test_numbers_reach_two_to_the_63(leases):
    group = leases.add_group("ct.log")
    top = 2**63 - 2
    assert leases.plan_ranges(group, 0, top, 50, size=2**62) == top + 1 - (top + 1 > 2**63 - 1)
    (status,) = leases.group_status(group)
    assert status.articles_planned == top + 1
    assert type(status.articles_planned) is int


def test_rules(leases, group):
    version = leases.publish_rules({"keep": ["subject"], "n": 1})
    lease = leases.lease_group(leases.register_node("indexer-1"))
    assert (lease.rules_version, lease.rules) == (version, {"keep": ["subject"], "n": 1})
    assert lease.next_range().rules_version == version


def test_lanes_and_idleness(leases, group):
    leases.pause_lane("history", "maintenance")
    lanes = {lane.lane: lane for lane in leases.lane_status()}
    assert not lanes["history"].is_open
    assert "maintenance" in lanes["history"].closed_because
    assert lanes["history"].articles_offered in (0, 300)
    assert leases.why_idle("history")
    assert leases.why_idle("history", group)
    leases.resume_lane("history")
    leases.report_catalog(100, 100)
    assert leases.lease_group(leases.register_node("indexer-1")) is None
    leases.report_catalog(99, 100)
    assert leases.lease_group(leases.register_node("indexer-1"))


def test_group_status(leases, lease, group):
    lease.next_range()
    (status,) = leases.group_status(group)
    assert (status.lease_id, status.node_name, status.quiet) == (lease.lease_id, "indexer-1", False)
    assert isinstance(status.heard_at, datetime)
    assert status.heard_at.tzinfo
    assert leases.group_status(group + 1) == []


def test_administration(leases, lease, group, db):
    db.execute("update leases.lanes set max_attempts = 1")
    r = lease.next_range()
    r.fail("bad")
    assert leases.range_status()[0].status == "parked"
    leases.retry_range(r.range_id)
    assert leases.range_status()[0].status == "planned"
    lease.next_range()
    lease.put_snapshot(1, b"window")
    leases.discard_snapshot(group, "history")
    with pytest.raises(pyleases.LeaseLost):
        lease.heartbeat()
    leases.restart_group(group)
    assert leases.range_status() == []
    leases.after_restore()


def test_arguments_are_checked_before_anything_is_sent(dsn, db):
    with pytest.raises(TypeError):
        pyleases.connect(db, connect_timeout=1)
    with pytest.raises(TypeError):
        pyleases.connect(42)
    with pyleases.connect(dsn) as leases, pytest.raises(pyleases.LeasesError, match="snapshots="):
        _ = leases.folder
