"""What holds for every object of the schema, asked of the catalog."""

import inspect
import re

import psycopg
import pytest

import pyleases
from pyleases.migrate import sql_folder
from tests.contract.test_signatures import TABLES

LANES = {"paused_because", "settings_version"}
ROLES = ("worker", "planner", "monitor", "admin")


def offenders(db, query, *params):
    return sorted(next(iter(row.values())) for row in db.execute(query, params))


def granted(db, role):
    """The functions that a role may call, with the names of their parameters."""
    rows = db.execute(
        "select proname, coalesce(proargnames, '{}') as parameters from pg_proc"
        " where pronamespace = 'leases'::regnamespace"
        " and has_function_privilege('leases_' || %s, oid, 'execute') order by 1",
        [role],
    )
    return {r["proname"]: r["parameters"] for r in rows}


def test_public_can_execute_nothing(db):
    assert not offenders(
        db,
        "select p.oid::regprocedure::text from pg_proc p,"
        " aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a"
        " where p.pronamespace = 'leases'::regnamespace and a.grantee = 0",
    )


def test_public_can_touch_no_table_type_or_sequence(db):
    assert not offenders(
        db,
        "select c.oid::regclass::text from pg_class c, aclexplode(c.relacl) a"
        " where c.relnamespace in ('leases'::regnamespace, 'leases_migrations'::regnamespace)"
        " and a.grantee = 0",
    )
    assert not offenders(
        db,
        "select n.nspname from pg_namespace n, aclexplode(n.nspacl) a"
        " where n.nspname ~ '^leases' and a.grantee = 0",
    )


def test_a_stranger_can_do_nothing(db, connect):
    role = f"stranger_{db.info.backend_pid}"
    db.execute(f"create role {role}")
    try:
        stranger = connect()
        stranger.execute(f"set role {role}")
        for query in ("select leases.register_node('x')", "select * from leases.group_status"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                stranger.execute(query)
        stranger.close()
    finally:
        db.execute(f"drop role {role}")


def test_search_path_pinned_on_every_definer_function_with_pg_temp_last(db):
    assert not offenders(
        db,
        "select oid::regprocedure::text from pg_proc where pronamespace = 'leases'::regnamespace and prosecdef"
        " and not exists (select from unnest(proconfig) s where s ~ '^search_path=pg_catalog, (leases, )?pg_temp$')",
    )


def test_internal_functions_are_granted_to_nobody(db):
    assert not offenders(
        db,
        "select p.oid::regprocedure::text from pg_proc p, aclexplode(p.proacl) a"
        " where p.pronamespace = 'leases'::regnamespace and p.proname like '\\_%%' and a.grantee <> p.proowner",
    )


def test_public_functions_are_definer_functions_granted_to_a_role(db):
    assert not offenders(
        db,
        "select oid::regprocedure::text from pg_proc where pronamespace = 'leases'::regnamespace"
        " and proname not like '\\_%%' and not (prosecdef and exists ("
        " select from aclexplode(proacl) a where a.grantee::regrole::text like 'leases\\_%%'))",
    )


def test_no_function_is_overloaded(db):
    assert not offenders(
        db,
        "select proname from pg_proc where pronamespace = 'leases'::regnamespace"
        " group by proname having count(*) > 1",
    )


def test_every_function_view_and_table_has_a_comment(db):
    assert not offenders(
        db,
        "select oid::regprocedure::text from pg_proc where pronamespace = 'leases'::regnamespace"
        " and coalesce(obj_description(oid, 'pg_proc'), '') = ''",
    )
    assert not offenders(
        db,
        "select oid::regclass::text from pg_class where relnamespace = 'leases'::regnamespace"
        " and relkind in ('r', 'v', 'p') and coalesce(obj_description(oid, 'pg_class'), '') = ''",
    )


@pytest.mark.parametrize("table", ["lanes", "groups", "nodes", "ranges"])
def test_every_column_that_administrators_write_has_a_comment(db, table):
    uncommented = offenders(
        db,
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0"
        " and not attisdropped and coalesce(col_description(attrelid, attnum), '') = ''",
        f"leases.{table}",
    )
    assert not set(uncommented) & (set(TABLES[table]) | (LANES if table == "lanes" else set()))


def test_every_index_says_in_the_migration_which_query_it_serves():
    text = "\n".join(p.read_text("utf-8") for p in (sql_folder() / "migrations").glob("*.sql"))
    blocks = re.findall(r"(?m)^(.*)\n((?:create (?:unique )?index [^;]*;\n)+)", text)
    assert len(blocks) > 3
    assert not [index for above, index in blocks if not above.startswith("-- serve")]


def test_worker_sees_no_table_and_no_view(db):
    assert not offenders(
        db,
        "select c.oid::regclass::text from pg_class c where relnamespace = 'leases'::regnamespace"
        " and relkind in ('r', 'v', 'p') and has_any_column_privilege("
        " 'leases_worker', c.oid, 'select, insert, update, references')",
    )


def test_monitor_looks_and_changes_nothing(db):
    for view in ("group_status", "range_status", "lane_status"):
        may = "select has_table_privilege('leases_monitor', %s, 'select') as may"
        assert db.execute(may, [f"leases.{view}"]).fetchone()["may"]
    assert not offenders(
        db,
        "select c.oid::regclass::text from pg_class c where relnamespace = 'leases'::regnamespace"
        " and relkind in ('r', 'v', 'p') and has_table_privilege("
        " 'leases_monitor', c.oid, 'insert, update, delete, truncate')",
    )
    assert set(granted(db, "monitor")) == {"why_idle", "lane_of"}


def test_each_role_may_call_its_own(db):
    worker, planner, admin = (granted(db, r) for r in ("worker", "planner", "admin"))
    assert not set(worker) & set(planner) - {"lane_of"}
    assert "end_lease" in admin
    assert not {"end_lease", "pause_lane", "after_restore"} & (set(worker) | set(planner))


def test_every_granted_function_has_a_python_method_of_its_name_and_parameters(db):
    wrong = []
    for role in ROLES:
        for name, parameters in granted(db, role).items():
            homes = [c for c in (pyleases.Leases, pyleases.Lease) if hasattr(c, name)]
            if not homes:
                wrong.append(name)
                continue
            taken = {p for c in homes for p in inspect.signature(getattr(c, name)).parameters}
            if pyleases.Lease in homes:
                taken |= {"lease_id"}
            # reject_snapshot takes the snapshot itself as well as its number
            taken |= {f"{p}_id" for p in taken}
            wrong += [f"{name}.{p}" for p in parameters if p not in taken]
    assert not wrong


def test_no_function_returns_bare_record(db):
    assert not offenders(
        db,
        "select oid::regprocedure::text from pg_proc where pronamespace = 'leases'::regnamespace"
        " and prorettype = 'record'::regtype and proname not like '\\_%%'",
    )
