"""Objects of a worker's own, named like those that our functions use, in pg_temp and in a schema on its search_path.

Each evil function writes down as whom it ran. None may ever run as the owner of the schema, and none may change what
our functions do.
"""

from __future__ import annotations

import pytest

from tests.sql.helpers import (
    begin,
    commit,
    finish_and_next,
    group_status,
    held,
    next_range,
    planned,
    read,
    reject,
    release,
    release_node,
    rows,
    snapshot,
    status,
    value,
)

# names of pg_catalog that bodies of ours call: with the parameters they are called with
FUNCTIONS = {
    "clock_timestamp": "() returns timestamptz",
    "now": "() returns timestamptz",
    "gen_random_uuid": "() returns uuid",
    "nextval": "(text) returns bigint",
    "current_setting": "(text) returns text",
    "pg_has_role": "(text, text, text) returns boolean",
    "has_table_privilege": "(text, text) returns boolean",
    "hashtext": "(text) returns integer",
    "pg_try_advisory_xact_lock": "(integer, integer) returns boolean",
    "format": "(text, bigint, text, bigint, text) returns text",
    "replace": "(text, text, text) returns text",
    "char_length": "(text) returns integer",
    "cardinality": "(bigint[]) returns integer",
    "generate_series": "(bigint, bigint, bigint) returns setof bigint",
    "date_part": "(text, interval) returns double precision",
    "_held": "(bigint) returns bigint",
    "_now": "() returns timestamptz",
    "_check_role": "(text) returns void",
    "_caller": "() returns text",
    "_raise": "(text, text, text, text) returns void",
}
AGGREGATES = ("max(bigint)", "min(bigint)", "count(text)", "sum(bigint)")
OPERATORS = (
    ("=", "bigint", "bigint"),
    ("<>", "text", "text"),
    ("=", "text", "text"),
    ("<", "bigint", "bigint"),
    (">", "bigint", "bigint"),
    ("-", "timestamptz", "timestamptz"),
    ("||", "text", "text"),
    ("!~", "text", "text"),
    ("+", "bigint", "bigint"),
)


def returning(signature):
    return "return;" if "setof" in signature or "void" in signature else "return null;"


def shadows(evil, schema):
    """Fill a schema with functions, operators, tables, types and casts that stand before ours on the path."""
    evil.execute(f"create table {schema}.seen (who text, what text)")

    def function(name, signature, call):
        evil.execute(
            f"create function {schema}.{name}{signature} language plpgsql as $evil$ begin"
            f" insert into {schema}.seen values (current_user, '{call}'); {returning(signature)} end $evil$"
        )

    for name, signature in FUNCTIONS.items():
        function(name, signature, name)
    for n, (symbol, left, right) in enumerate(OPERATORS):
        function(f"op{n}", f"({left}, {right}) returns boolean", f"operator {symbol}")
        evil.execute(
            f"create operator {schema}.{symbol} (function = {schema}.op{n}, leftarg = {left}, rightarg = {right})"
        )
    for n, aggregate in enumerate(AGGREGATES):
        name, _, of = aggregate.rstrip(")").partition("(")
        function(f"step{n}", f"(bigint, {of}) returns bigint", f"aggregate {name}")
        evil.execute(
            f"create aggregate {schema}.{name}({of}) (sfunc = {schema}.step{n}, stype = bigint)"
        )
    for table in ("ranges", "grants", "progress", "group_lanes", "lanes", "nodes", "snapshots"):
        evil.execute(f"create table {schema}.{table} (lease_id bigint, role text, lane text)")
    for view in ("pg_roles", "pg_stat_activity"):
        evil.execute(f"create view {schema}.{view} as select null::text as backend_type")
    evil.execute(f"create type {schema}.handed_out as (range_id text)")
    evil.execute(f"create type {schema}.granted as (lease_id text)")
    evil.execute(f"create domain {schema}.interval_ as interval")
    evil.execute(f"create type {schema}.text as (x integer)")
    evil.execute(f"create type {schema}.int8 as (x integer)")


def a_life(worker):
    """Call every function of a worker."""
    got = held(worker)
    snapshot(worker, got, 1)
    first = next_range(worker, got)
    second = finish_and_next(worker, got, first)
    begun = begin(worker, got, second["start_id"] + 9)
    commit(worker, got, begun)
    read(worker, got)
    assert reject(worker, got, begun)["next_id"] == 1
    assert read(worker, got)["start_id"] == 1
    snapshot(worker, got, 101)
    value(worker, "select leases.lane_of(priority => 5)")
    rows(worker, "select * from leases.stale_snapshots()")
    value(worker, "select leases.forget_snapshots(snapshot_ids => array[1])")
    rows(worker, "select * from leases.unknown_snapshots(files => array['a'])")
    release(worker, got)
    again = held(worker)
    assert again["snapshot_next"] == 101
    assert release_node(worker, value(worker, "select leases.register_node(name => 'n1')")) == 1


@pytest.mark.parametrize("path", ["{own}, leases, pg_catalog", "{own}, pg_catalog"])
def test_own_schema_before_all_others(db, log_in, path):
    g = planned(db)
    evil = log_in("worker", schema=True)
    own = evil.info.user
    shadows(evil, own)
    evil.execute(f"set search_path = {path.format(own=own)}")
    assert evil.execute("select now()").fetchone()["now"] is None  # the shadow works, on its own
    a_life(evil)
    assert status(db, g)[0] == (1, 101, "done")
    assert group_status(db, g)["heard_at"] is not None
    seen = {(r["who"], r["what"]) for r in rows(db, f"select who, what from {own}.seen")}
    assert seen == {(own, "now")}


def test_pg_temp(db, log_in):
    g = planned(db)
    evil = log_in("worker")
    evil.execute("create temporary table seen (who text, what text)")
    for table in rows(
        db,
        "select relname as name from pg_class where relnamespace = 'leases'::regnamespace"
        " and relkind in ('r', 'v', 'c') union select unnest(array['pg_roles', 'pg_stat_activity', 'pg_class'])",
    ):
        evil.execute(f"create temporary table {table['name']} (lease_id bigint, role text)")
    for name in ("text", "int8", "interval", "timestamptz", "jsonb"):
        evil.execute(f"create type pg_temp.{name} as (x integer)")
    for name, signature in FUNCTIONS.items():
        evil.execute(
            f"create function pg_temp.{name}{signature} language plpgsql as $evil$ begin"
            f" insert into pg_temp.seen values (current_user, '{name}'); {returning(signature)} end $evil$"
        )
    evil.execute("set search_path = pg_temp, leases, pg_catalog")
    a_life(evil)
    assert status(db, g)[0] == (1, 101, "done")
    assert rows(evil, "select * from pg_temp.seen") == []


def test_casts_of_a_workers_own_type_run_as_the_worker(db, log_in):
    """Arguments are cast by the caller, before our functions begin."""
    planned(db)
    evil = log_in("worker", schema=True)
    own = evil.info.user
    got = held(evil)
    evil.execute(f"create table {own}.seen (who text)")
    evil.execute(f"create type {own}.ticket as (x bigint)")
    for to in ("bigint", "text"):
        evil.execute(
            f"create function {own}.as_{to}({own}.ticket) returns {to} language plpgsql as $evil$"
            f" begin insert into {own}.seen values (current_user); return ($1).x; end $evil$"
        )
        evil.execute(
            f"create cast ({own}.ticket as {to}) with function {own}.as_{to}({own}.ticket) as implicit"
        )
    lease_id = got["lease_id"]
    evil.execute(f"select leases.heartbeat(lease_id => row({lease_id})::{own}.ticket)")
    evil.execute(f"select leases.register_node(name => row({lease_id})::{own}.ticket)")
    assert {r["who"] for r in rows(db, f"select who from {own}.seen")} == {own}


def test_defaults_and_arguments_run_as_the_worker(db, log_in):
    """An argument's expression may call anything; it is the caller's."""
    planned(db)
    evil = log_in("worker", schema=True)
    own = evil.info.user
    evil.execute(
        f"create function {own}.who() returns text language sql volatile as 'select current_user::text'"
    )
    evil.execute(f"select leases.register_node(name => {own}.who())")
    assert value(db, "select name from leases.nodes") == own


def test_views_run_nothing_of_the_one_who_looks(db, log_in):
    planned(db)
    held(db)
    evil = log_in("monitor", schema=True)
    own = evil.info.user
    shadows(evil, own)
    evil.execute(f"set search_path = {own}, leases, pg_catalog")
    for view in ("group_status", "range_status", "lane_status"):
        assert rows(evil, f"select * from leases.{view}")
    rows(evil, "select * from leases.why_idle(lane => 'history')")
    assert rows(db, f"select who from {own}.seen") == []


def test_a_leaky_function_sees_only_what_the_views_show(db, log_in):
    """Rows of the tables behind a view may reach a cheap function first; a monitor may see them all."""
    planned(db, "secret")
    evil = log_in("monitor", schema=True)
    own = evil.info.user
    evil.execute(
        f"create function {own}.leak(text) returns boolean language plpgsql cost 0.0000001 as $evil$"
        " begin raise notice '%', $1; return true; end $evil$"
    )
    heard = []
    evil.add_notice_handler(lambda notice: heard.append(notice.message_primary))
    rows(evil, f"select * from leases.group_status where {own}.leak(group_name)")
    shown = {r["group_name"] for r in rows(db, "select group_name from leases.group_status")}
    assert set(heard) == shown
