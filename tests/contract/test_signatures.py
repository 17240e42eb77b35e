"""Every function, view, table and column of the contract is there, under its name and with its type."""

import pytest

ROWS = {
    "granted": (
        "lease_id bigint, group_id bigint, group_name text, group_priority integer, lane text, "
        "rules_version bigint, rules jsonb, ttl interval, snapshot_id bigint, snapshot_next bigint"
    ),
    "handed_out": (
        "range_id bigint, start_id bigint, end_id bigint, next_id bigint, priority integer, "
        "capture boolean, attempts integer, rules_version bigint"
    ),
    "snapshot": (
        "snapshot_id bigint, next_id bigint, file text, bytes bigint, checksum text, "
        "taken_at timestamp with time zone"
    ),
    "file": "snapshot_id bigint, file text",
    "idle": "reason text, groups bigint, ranges bigint, hint text",
}

# name(parameters): (result, at most how many rows: 1, None for any; the role it is for)
FUNCTIONS = {
    "register_node(name text)": ("bigint", "worker"),
    "lease_group(node_id bigint, lane text DEFAULT 'history'::text)": ("row? granted", "worker"),
    "next_range(lease_id bigint)": ("row? handed_out", "worker"),
    "heartbeat(lease_id bigint, next_id bigint DEFAULT NULL::bigint)": ("void", "worker"),
    "finish_range(lease_id bigint, range_id bigint, headers bigint DEFAULT 0)": ("void", "worker"),
    "finish_and_next(lease_id bigint, range_id bigint, headers bigint DEFAULT 0)": (
        "row? handed_out",
        "worker",
    ),
    "fail_range(lease_id bigint, range_id bigint, reason text)": ("void", "worker"),
    "release_group(lease_id bigint)": ("void", "worker"),
    "release_node(node_id bigint)": ("bigint", "worker"),
    "begin_snapshot(lease_id bigint, next_id bigint)": ("row file", "worker"),
    "commit_snapshot(lease_id bigint, snapshot_id bigint, bytes bigint, checksum text)": (
        "void",
        "worker",
    ),
    "abort_snapshot(lease_id bigint, snapshot_id bigint)": ("void", "worker"),
    "reject_snapshot(lease_id bigint, snapshot_id bigint)": ("row? snapshot", "worker"),
    "current_snapshot(lease_id bigint)": ("row? snapshot", "worker"),
    "stale_snapshots()": ("row? file", "worker"),
    "forget_snapshots(snapshot_ids bigint[])": ("void", "worker"),
    "lane_of(priority integer)": ("text", "worker"),
    "add_group(name text, priority integer DEFAULT NULL::integer, active boolean DEFAULT NULL::boolean)": (
        "bigint",
        "planner",
    ),
    "plan_ranges(group_id bigint, start_id bigint, end_id bigint, priority integer, "
    "capture boolean DEFAULT false, size bigint DEFAULT 10000)": ("bigint", "planner"),
    "publish_rules(rules jsonb)": ("bigint", "planner"),
    "report_catalog(used_bytes bigint, cap_bytes bigint)": ("void", "planner"),
    "pause_lane(lane text, reason text)": ("void", "admin"),
    "resume_lane(lane text)": ("void", "admin"),
    "end_lease(lease_id bigint)": ("void", "admin"),
    "retry_range(range_id bigint)": ("void", "admin"),
    "discard_snapshot(group_id bigint, lane text)": ("void", "admin"),
    "restart_group(group_id bigint)": ("void", "admin"),
    "after_restore()": ("void", "admin"),
    "set_priority(group_id bigint, start_id bigint, end_id bigint, priority integer)": (
        "bigint",
        "admin",
    ),
    "why_idle(lane text, group_id bigint DEFAULT NULL::bigint)": ("row? idle", "monitor"),
}

# The views have these columns and no others; the tables may have more.
VIEWS = {
    "group_status": {
        **dict.fromkeys(
            ("group_id", "lease_id", "node_id", "range_id", "snapshot_id", "snapshot_next"),
            "bigint",
        ),
        **dict.fromkeys(("group_name", "lane", "node_name"), "text"),
        **dict.fromkeys(("active", "quiet"), "boolean"),
        **dict.fromkeys(
            ("node_seen_at", "leased_at", "heard_at", "moved_at", "snapshot_at"),
            "timestamp with time zone",
        ),
        **dict.fromkeys(
            ("ranges_offered", "ranges_planned", "ranges_parked", "ranges_done"), "bigint"
        ),
        **dict.fromkeys(("articles_offered", "articles_planned", "headers"), "a number"),
    },
    "range_status": {
        **dict.fromkeys(
            ("range_id", "group_id", "start_id", "end_id", "next_id", "rules_version"), "bigint"
        ),
        **dict.fromkeys(("lane", "status", "last_error"), "text"),
        **dict.fromkeys(("priority", "attempts"), "integer"),
        "capture": "boolean",
        "done_at": "timestamp with time zone",
    },
    "lane_status": {
        **dict.fromkeys(("lane", "closed_because"), "text"),
        "is_open": "boolean",
        **dict.fromkeys(
            ("groups_held", "groups_quiet", "groups_waiting", "ranges_parked"), "bigint"
        ),
        "articles_offered": "a number",
    },
}
TABLES = {
    "groups": {"group_id": "bigint", "name": "text", "priority": "integer", "active": "boolean"},
    "nodes": {"node_id": "bigint", "name": "text"},
    "ranges": {
        **dict.fromkeys(("range_id", "group_id", "start_id", "end_id", "next_id"), "bigint"),
        "priority": "integer",
        "capture": "boolean",
        "status": "text",
        "done_at": "timestamp with time zone",
    },
    "lanes": {
        "lane": "text",
        **dict.fromkeys(
            (
                "priority_from",
                "priority_to",
                "offer_from",
                "offer_to",
                "max_attempts",
                "keep_snapshots",
            ),
            "integer",
        ),
        **dict.fromkeys(("capture_only", "yields_to_catalog"), "boolean"),
        "ttl": "interval",
    },
}
SIZES = {"bigint", "numeric"}  # of what adds up: both are numbers to any client


def columns(db, relation):
    rows = db.execute(
        "select attname, format_type(atttypid, atttypmod) as type from pg_attribute"
        " where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
        [f"leases.{relation}"],
    )
    return {r["attname"]: r["type"] for r in rows}


@pytest.mark.parametrize("signature", FUNCTIONS)
def test_function(db, signature):
    result, role = FUNCTIONS[signature]
    name, parameters = signature.removesuffix(")").split("(", 1)
    found = db.execute(
        "select pg_get_function_arguments(p.oid) as parameters, p.proretset, t.typtype::text as kind,"
        " format_type(t.oid, null) as type, t.typname as row,"
        " has_function_privilege('leases_' || %s, p.oid, 'execute') as allowed"
        " from pg_proc p join pg_type t on t.oid = p.prorettype"
        " where p.pronamespace = 'leases'::regnamespace and p.proname = %s",
        [role, name],
    ).fetchall()
    assert [f["parameters"] for f in found] == [parameters]
    assert found[0]["allowed"]
    if result.startswith("row"):
        how, row = result.split()
        assert found[0]["kind"] == "c"
        assert found[0]["proretset"] == (how == "row?")
        listed = ", ".join(
            f"{name} {type_}" for name, type_ in columns(db, found[0]["row"]).items()
        )
        assert listed == ROWS[row]
    else:
        assert found[0]["type"] == result
        assert not found[0]["proretset"]


@pytest.mark.parametrize("view", VIEWS)
def test_view(db, view):
    there = columns(db, view)
    expected = VIEWS[view]
    assert set(there) == set(expected)
    for name, type_ in expected.items():
        assert there[name] == type_ or (type_ == "a number" and there[name] in SIZES), name


@pytest.mark.parametrize("table", TABLES)
def test_table(db, table):
    there = columns(db, table)
    assert {name: there.get(name) for name in TABLES[table]} == TABLES[table]


def test_settings_from_the_start(db):
    rows = db.execute("select * from leases.lanes order by priority_from nulls first").fetchall()
    seen = [(r["lane"], r["priority_from"], r["priority_to"], r["yields_to_catalog"]) for r in rows]
    assert seen == [("tail", None, 10, False), ("history", 11, None, True)]
    for row in rows:
        assert row["ttl"].total_seconds() == 120
        assert row["max_attempts"] is None
        assert row["keep_snapshots"] == 2
        assert (row["offer_from"], row["offer_to"], row["capture_only"]) == (None, None, False)
