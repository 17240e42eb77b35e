"""A session's settings are its user's to change. None of them turns a guard off, or makes anyone another."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.sql.helpers import (
    at,
    begin,
    commit,
    discard,
    everything,
    fail,
    held,
    insert_range,
    lane_status,
    lease,
    next_range,
    node,
    plan,
    planned,
    read,
    refused,
    reject,
    release,
    retry,
    rows,
    set_priority,
    setting,
    snapshot,
    status,
    value,
)

OURS = ("on", "plan", "off", "")  # what the functions set leases.internal to, and what they don't


@pytest.fixture
def admin(log_in):
    return log_in("admin")


def internal(connection, to):
    value(connection, "select set_config('leases.internal', %s, false)", to)


@pytest.mark.parametrize("to", OURS)
def test_setting_internal_lets_no_range_overlap(db, admin, to):
    g = planned(db)
    other = planned(db, "other")
    internal(admin, to)
    with refused("LS004"):
        insert_range(admin, g, 250, 350)
    with refused("LS004"):
        admin.execute(
            "update leases.ranges set end_id = 150 where group_id = %s and start_id = 1", (g,)
        )
    with refused("LS004"):
        admin.execute("update leases.ranges set group_id = %s where group_id = %s", (g, other))
    assert status(db, g) == [(1, 1, "planned"), (101, 101, "planned"), (201, 201, "planned")]


@pytest.mark.parametrize("to", OURS)
def test_setting_internal_lets_nobody_write_a_range_in_a_window(db, admin, to):
    g = planned(db)
    got = held(db)
    snapshot(db, got, 1)
    read(db, got)
    next_range(db, got)
    before = everything(db)
    internal(admin, to)
    for start in (1, 101):
        for change in ("status = 'done'", "next_id = start_id + 5", "end_id = end_id - 1"):
            with refused("55006"):
                admin.execute(
                    f"update leases.ranges set {change} where group_id = %s and start_id = %s",
                    (g, start),
                )
    with refused("55006"):
        admin.execute("delete from leases.ranges where group_id = %s and start_id = 101", (g,))
    assert everything(db) == before


@pytest.mark.parametrize("to", OURS)
def test_setting_internal_leaves_ranges_in_their_lanes(db, admin, to):
    g = planned(db)
    internal(admin, to)
    assert set_priority(admin, g, 1, 100, 5) == 1
    assert at(db, g, 1)["lane"] == "tail"
    admin.execute(
        "update leases.ranges set priority = 6 where group_id = %s and start_id = 101", (g,)
    )
    assert at(db, g, 101)["lane"] == "tail"
    admin.execute("update leases.lanes set priority_from = 60 where lane = 'history'")
    admin.execute("update leases.lanes set priority_to = 59 where lane = 'tail'")
    assert at(db, g, 201)["lane"] == "tail"
    assert lane_status(db, "tail")["articles_offered"] == 300


@pytest.mark.parametrize("to", OURS)
def test_setting_internal_tells_the_holder_of_what_is_planned_below(db, admin, to):
    g = planned(db, to=200)
    got = held(db)
    first = next_range(db, got)
    fail(db, got, first)
    admin.execute(
        "update leases.ranges set status = 'parked' where range_id = %s", (first["range_id"],)
    )
    read(db, got)
    internal(admin, to)
    retry(admin, first)
    assert next_range(db, got)["range_id"] == first["range_id"]
    read(db, got)
    assert insert_range(admin, g, 201, 300)
    assert next_range(db, got)["start_id"] == 201


@pytest.mark.parametrize("to", OURS)
def test_setting_internal_changes_nothing_of_what_workers_and_planners_do(db, log_in, to):
    """A lane's whole life, with the setting and without: the same result, and exact figures."""
    results = []
    for name, wrong in (("fair", None), ("foul", to)):
        worker, planner = log_in("worker"), log_in("planner")
        for connection in (worker, planner):
            if wrong is not None:
                internal(connection, wrong)
        g = planned(planner, name, to=400)
        assert plan(planner, g, 1, 500) == 100
        got = held(worker, name)
        snapshot(worker, got, 1)
        read(worker, got, headers=7)
        snapshot(worker, got, 101)
        hand = next_range(worker, got)
        begun = begin(worker, got, 150)
        fail(worker, got, hand)
        commit(worker, got, begun)
        read(worker, got)
        read(worker, got)
        with refused("LS002"):
            fail(worker, got, hand)
        reject(worker, got, begun)
        read(worker, got)
        release(worker, got)
        figures = rows(
            db,
            "select ranges_planned, articles_planned, ranges_done, headers, articles_offered"
            " from leases.group_status where group_id = %s",
            g,
        )
        results.append((status(db, g), figures))
        db.execute("update leases.groups set active = false")
    assert results[0] == results[1]
    assert results[0][0][0] == (1, 101, "done")


def test_worker_and_planner_can_write_no_table_whatever_they_set(db, log_in):
    planned(db)
    tables = [
        r["name"]
        for r in rows(
            db,
            "select relname as name from pg_class where relnamespace = 'leases'::regnamespace"
            " and relkind = 'r'",
        )
    ]
    assert len(tables) > 10
    for of in ("worker", "planner", "monitor"):
        evil = log_in(of)
        internal(evil, "on")
        evil.execute("set search_path = leases, pg_catalog")
        for table in tables:
            for attack in (
                f"delete from leases.{table}",
                f"insert into leases.{table} default values",
                f"truncate leases.{table}",
                f"copy leases.{table} to stdout"
                if of == "worker"
                else f"drop table leases.{table}",
                f"alter table leases.{table} disable trigger all",
                f"lock table leases.{table} in access exclusive mode",
            ):
                with refused("42501"), evil.transaction():
                    evil.execute(attack)


def test_triggers_can_not_be_switched_off(admin):
    for attack in (
        "set session_replication_role = replica",
        "alter table leases.ranges disable trigger all",
        "create trigger mine before update on leases.ranges for each row execute function leases._now()",
        "truncate leases.ranges",
        "create or replace function leases._now() returns timestamptz language sql return 'epoch'",
        "alter function leases._now() rename to _then",
        "create table leases.mine (x int)",
    ):
        with refused("42501"):
            admin.execute(attack)


def test_nobody_becomes_another(db, log_in):
    planned(db)
    victim, evil, admin = log_in("worker"), log_in("worker"), log_in("admin")
    got = held(victim)
    me, admins = victim.info.user, admin.info.user
    for attack in (
        f"set role {me}",
        f"set role {admins}",
        "set role leases_admin",
        f"set session authorization {me}",
        f"set local role {me}",
        f"select set_config('role', '{me}', false)",
        f"select set_config('session_authorization', '{me}', false)",
        f"create function pg_temp.f() returns bigint language sql set role = '{me}'"
        " as 'select leases.register_node(name => ''n1'')'; select pg_temp.f()",
        f"do $$ begin set local role {me}; perform leases.register_node(name => 'n1'); end $$",
    ):
        with pytest.raises(psycopg.Error) as caught:
            evil.execute(attack)
        assert caught.value.sqlstate in ("42501", "22023"), attack
        assert value(evil, "select current_user::text || session_user") == evil.info.user * 2
        with refused("42501"):
            next_range(evil, got)
    assert lane_status(db)["groups_held"] == 1


def test_nobody_logs_in_as_another(dsn, db, account):
    """PostgreSQL keeps such a setting, and does not obey it."""
    victim, evil = account("worker"), account("worker")
    with psycopg.connect(make_conninfo(dsn, **evil), autocommit=True) as connection:
        connection.execute(f"alter role {evil['user']} set role = '{victim['user']}'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"alter role {victim['user']} set leases.internal = 'on'")
    with psycopg.connect(make_conninfo(dsn, **evil), autocommit=True) as connection:
        connection.execute("select leases.register_node(name => 'mine')")
    assert value(db, "select role from leases.nodes") == evil["user"]


def test_no_function_has_a_backslash_that_a_setting_could_read_otherwise(db):
    """standard_conforming_strings is of the caller's session, and changes what a literal says."""
    found = rows(
        db,
        "select proname from pg_proc where pronamespace = 'leases'::regnamespace and strpos(prosrc, '\\') > 0",
    )
    assert found == []


def test_a_definers_function_does_not_lend_its_owners_name(db, log_in):
    """Called in another's SECURITY DEFINER function, the caller is still who logged in."""
    planned(db)
    admin, evil = log_in("admin", schema=True), log_in("worker")
    got = held(db)
    home = admin.info.user
    admin.execute(
        f"create function {home}.f(l bigint) returns void language sql security definer"
        " as 'select leases.heartbeat(lease_id => l)'"
    )
    admin.execute(f"grant usage on schema {home} to {evil.info.user}")
    with refused("42501"):
        value(evil, f"select {home}.f(%s)", got["lease_id"])
    admin.execute(f"select {home}.f(%s)", (got["lease_id"],))


def test_member_of_leases_admin_without_its_rights_is_no_administrator(db, log_in):
    """To administer a role is not to have it: PostgreSQL 16 gives such a membership to who made the role."""
    if db.info.server_version < 160000:
        pytest.skip("memberships have no SET and INHERIT options before PostgreSQL 16")
    planned(db)
    got = held(db)
    evil = log_in("worker")
    db.execute(f"grant leases_admin to {evil.info.user} with inherit false, set false, admin true")
    with refused("42501"):
        next_range(evil, got)


@pytest.mark.parametrize(
    "name",
    [
        "transform_null_equals=on",
        "array_nulls=off",
        "standard_conforming_strings=off",
        "plan_cache_mode=force_generic_plan",
        "plpgsql.extra_errors=all",
        "row_security=off",
        "check_function_bodies=off",
        "default_transaction_isolation=serializable",
        "xmlbinary=hex",
        "bytea_output=escape",
        "DateStyle=German",
        "session_preload_libraries=",
        "search_path=",
    ],
)
def test_settings_that_change_what_sql_means(db, log_in, name):
    g = planned(db)
    evil = log_in("worker")
    key, _, to = name.partition("=")
    try:
        value(evil, "select set_config(%s, %s, false)", key, to)
    except psycopg.errors.InsufficientPrivilege:
        return
    got = held(evil)
    read(evil, got)
    begun = begin(evil, got, 101)
    commit(evil, got, begun)
    read(evil, got)
    assert reject(evil, got, begun) is None
    discardable = snapshot(evil, got, 201)
    release(evil, got)
    assert status(db, g)[1] == (101, 201, "done")
    setting(db, keep_snapshots=1)
    discard(db, g)
    assert discardable
    assert lease(evil, node(evil)) is not None
