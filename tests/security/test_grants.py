"""What each role may do, as docs/security.md says it and as the catalog has it."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.sql.helpers import refused, rows, value

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ROLES = ("worker", "planner", "monitor", "admin")
RIGHTS = ("select", "insert", "update", "delete", "truncate", "references", "trigger")


def functions(db):
    """Say which functions each role may call, one a row."""
    yield "| function | worker | planner | monitor | admin |"
    yield "| --- | --- | --- | --- | --- |"
    found = rows(
        db,
        "select p.proname, "
        + ", ".join(f"has_function_privilege('leases_{r}', p.oid, 'execute') as {r}" for r in ROLES)
        + " from pg_proc p where p.pronamespace = 'leases'::regnamespace order by p.proname",
    )
    for row in found:
        marks = ["yes" if row[r] else "" for r in ROLES]
        if any(marks):
            yield f"| `{row['proname']}` | " + " | ".join(marks) + " |"


def relations(db):
    """Say what each role may do with the tables, views and sequences that any of them may touch."""
    yield "| table or view | worker | planner | monitor | admin |"
    yield "| --- | --- | --- | --- | --- |"
    found = rows(
        db,
        "select oid, relname, relkind from pg_class where relnamespace = 'leases'::regnamespace"
        " and relkind in ('r', 'v', 'm', 'p', 'f') order by relkind, relname",
    )
    for relation in found:
        cells = [", ".join(_rights(db, r, relation["oid"])) for r in ROLES]
        if any(cells):
            yield f"| `{relation['relname']}` | " + " | ".join(cells) + " |"


def _rights(db, role, oid):
    for right in RIGHTS:
        if value(db, "select has_table_privilege('leases_' || %s, %s::oid, %s)", role, oid, right):
            yield right
        elif right in ("select", "insert", "update", "references"):
            columns = rows(
                db,
                "select attname from pg_attribute where attrelid = %s::oid and attnum > 0 and not attisdropped"
                " and has_column_privilege('leases_' || %s, attrelid, attnum, %s) order by attnum",
                *(oid, role, right),
            )
            if columns:
                yield f"{right} of " + " ".join(f"`{c['attname']}`" for c in columns)


@pytest.mark.parametrize("table", [functions, relations])
def test_tables_of_the_page_are_those_of_the_catalog(db, table):
    shown = "\n".join(table(db))
    assert shown in PAGE.read_text("utf-8"), f"docs/security.md should have:\n\n{shown}\n"


def test_roles_of_ours_can_not_log_in_and_have_no_attribute(db):
    found = rows(
        db,
        "select rolname, rolsuper, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls"
        " from pg_roles where rolname like 'leases\\_%%' and not rolcanlogin",
    )
    assert {r.pop("rolname") for r in found} >= {f"leases_{r}" for r in ROLES}
    assert not any(any(r.values()) for r in found)


def test_only_administrators_are_members_of_another_role_of_ours(db):
    found = rows(
        db,
        "select member::regrole::text as member, roleid::regrole::text as role, admin_option from pg_auth_members"
        " where roleid::regrole::text like 'leases\\_%%' and member::regrole::text like 'leases\\_%%'"
        " and not (select rolcanlogin from pg_roles where oid = member)",
    )
    assert {(r["member"], r["role"]) for r in found} == {
        ("leases_admin", f"leases_{r}") for r in ROLES if r != "admin"
    }
    assert not any(r["admin_option"] for r in found)


def test_everything_belongs_to_one_owner(db):
    owners = rows(
        db,
        "select proowner::regrole::text as owner from pg_proc where pronamespace = 'leases'::regnamespace"
        " union select relowner::regrole::text from pg_class where relnamespace::regnamespace::text ~ '^leases'"
        " union select nspowner::regrole::text from pg_namespace where nspname ~ '^leases'"
        " union select typowner::regrole::text from pg_type where typnamespace = 'leases'::regnamespace",
    )
    assert len(owners) == 1


def test_sequences_can_be_set_by_nobody(db):
    found = rows(
        db,
        "select relname, r.role from pg_class, unnest(array['worker', 'planner', 'monitor', 'admin']) as r (role)"
        " where relnamespace = 'leases'::regnamespace and relkind = 'S'"
        " and has_sequence_privilege('leases_' || r.role, oid, 'update')",
    )
    assert found == []


def test_stranger_and_public_can_do_nothing(log_in):
    stranger = log_in()
    for attack in (
        "select * from leases.lane_status",
        "select leases.register_node(name => 'x')",
        "select leases.lane_of(priority => 5)",
        "select leases._now()",
        "select null::leases.granted",
        "create table leases.mine (x int)",
        "select * from leases_migrations._yoyo_migration",
    ):
        with refused("42501"):
            stranger.execute(attack)


def test_nobody_but_the_owner_calls_an_internal_function(db, log_in):
    inside = rows(
        db,
        "select proname, pronargs from pg_proc where pronamespace = 'leases'::regnamespace and proname like '\\_%%'",
    )
    assert len(inside) > 40
    admin = log_in("admin", "worker", "planner", "monitor")
    for f in inside:
        nulls = ", ".join(["null"] * f["pronargs"])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            admin.execute(f"select leases.{f['proname']}({nulls})")
