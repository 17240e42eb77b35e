"""Migrating down and up again leaves no difference."""

import re
import shutil
import subprocess

import psycopg
import pytest

from pyleases.devserver import find_binaries
from pyleases.migrate import SCHEMA, migrate, rollback


def dump(dsn):
    """The schema as pg_dump tells it, without yoyo's own tables, which keep the history."""
    pg_dump = shutil.which("pg_dump", path=str(find_binaries())) or shutil.which("pg_dump")
    if pg_dump is None:
        pytest.skip("no pg_dump")
    done = subprocess.run(
        [pg_dump, "--schema-only", "--exclude-schema", SCHEMA, "-d", dsn],
        capture_output=True,
        text=True,
        check=False,
    )
    if "server version mismatch" in done.stderr:
        pytest.skip("pg_dump is older than the server")
    assert done.returncode == 0, done.stderr
    return re.sub(r"(?m)^(\\(un)?restrict .*|--.*|)\n", "", done.stdout)


def settings(dsn):
    with psycopg.connect(dsn) as connection:
        return connection.execute("select to_jsonb(l) from leases.lanes l order by lane").fetchall()


def test_down_leaves_nothing_and_up_again_makes_the_same(blank):
    nothing = dump(blank)
    migrate(blank)
    first, set_to = dump(blank), settings(blank)
    assert "CREATE FUNCTION leases.lease_group" in first
    rollback(blank)
    assert dump(blank) == nothing
    assert not rollback(blank).changed
    migrate(blank)
    assert dump(blank) == first
    assert settings(blank) == set_to


def test_down_and_up_with_something_in_it(dsn, db):
    first = dump(dsn)
    node = db.execute("select leases.register_node('n') as id").fetchone()["id"]
    db.execute("select leases.plan_ranges(leases.add_group('a'), 1, 100, 20)")
    assert db.execute("select lease_id from leases.lease_group(%s)", [node]).fetchone()
    rollback(dsn)
    migrate(dsn)
    assert dump(dsn) == first
    assert db.execute("select count(*) from leases.ranges").fetchone()["count"] == 0
