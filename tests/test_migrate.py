"""Migrations: whole or not at all, from anywhere, any number at once, and never in a worker's way (O2)."""

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.rows import dict_row

from pyleases.migrate import SCHEMA, MigrationError, migrate, rollback, sql_folder

FILES = len(list((sql_folder() / "functions").rglob("*.sql")))
MIGRATIONS = sorted(
    p.name.removesuffix(".sql")
    for p in (sql_folder() / "migrations").glob("*.sql")
    if not p.name.endswith(".rollback.sql")
)


@pytest.fixture
def tree(tmp_path):
    """A copy of the SQL files to change: the next version."""
    return shutil.copytree(sql_folder(), tmp_path / "sql")


def add_migration(tree, text, name="9999.next", undo=""):
    (tree / "migrations" / f"{name}.sql").write_text(f"-- depends: {MIGRATIONS[-1]}\n{text}")
    (tree / "migrations" / f"{name}.rollback.sql").write_text(undo)


def schemas(dsn):
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("select nspname from pg_namespace where nspname ~ '^leases'")
        return {name for (name,) in rows}


def functions(dsn):
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "select oid::regprocedure::text from pg_proc where pronamespace = 'leases'::regnamespace"
        )
        return {name for (name,) in rows}


def test_from_empty_and_again(blank):
    report = migrate(blank)
    assert list(report.migrations) == MIGRATIONS
    assert len(report.files) == FILES
    assert report.dropped == report.altered == ()
    again = migrate(blank)
    assert not again.changed
    assert again.altered == ()


def test_nothing_to_do_takes_no_lock(db, dsn, connect):
    other = connect(autocommit=False)
    for table in ("leases.ranges", "leases.lanes", f"{SCHEMA}._yoyo_migration"):
        other.execute(f"lock table {table} in access exclusive mode")
    assert not migrate(dsn, timeout=0).changed


@pytest.mark.parametrize("at_once", [2, 5])
def test_o2_several_at_once_on_an_empty_database(blank, at_once):
    together = threading.Barrier(at_once)

    def run(_):
        together.wait()
        return migrate(blank)

    with ThreadPoolExecutor(at_once) as pool:
        reports = list(pool.map(run, range(at_once)))
    assert sorted(r.changed for r in reports) == [False] * (at_once - 1) + [True]
    with psycopg.connect(blank) as connection:
        rows = connection.execute(f"select migration_id from {SCHEMA}._yoyo_migration order by 1")
        assert [name for (name,) in rows] == MIGRATIONS


def test_bad_function_file_takes_the_migration_back_with_it(blank, tree):
    (tree / "functions" / "worker" / "zz_bad.sql").write_text(
        "create function leases.bad() retruns int;"
    )
    with pytest.raises(psycopg.errors.SyntaxError) as caught:
        migrate(blank, sql_dir=tree)
    assert "in functions/worker/zz_bad.sql" in caught.value.__notes__
    assert schemas(blank) == set()


def test_function_file_that_needs_what_nobody_defines_fails(blank, tree):
    (tree / "functions" / "worker" / "zz_bad.sql").write_text(
        "create function leases.bad() returns int language sql return leases.nowhere();"
    )
    with pytest.raises(psycopg.errors.UndefinedFunction):
        migrate(blank, sql_dir=tree)
    assert schemas(blank) == set()


def test_killed_half_way_leaves_nothing_behind_and_nothing_locked(blank, tree):
    add_migration(tree, "select pg_sleep(60);")
    with ThreadPoolExecutor(1) as pool, psycopg.connect(blank, autocommit=True) as watcher:
        running = pool.submit(migrate, blank, sql_dir=tree)
        killed = "select pg_terminate_backend(pid) from pg_stat_activity where query ~ '^select pg_sleep'"
        while not watcher.execute(killed).fetchall():
            time.sleep(0.02)
        with pytest.raises(psycopg.OperationalError):
            running.result(30)
    assert schemas(blank) == set()
    assert list(migrate(blank, timeout=10).migrations) == MIGRATIONS


def test_only_the_changed_function_file_is_applied(dsn, tree):
    file = tree / "functions" / "internal" / "_now.sql"
    file.write_text(file.read_text().replace("create or replace", "-- changed\ncreate or replace"))
    report = migrate(dsn, sql_dir=tree)
    assert report.migrations == ()
    assert report.files == ("functions/internal/_now.sql",)
    assert report.dropped == ()


def test_functions_views_and_triggers_that_no_file_defines_any_more_are_dropped(dsn, db, tree):
    extra = tree / "functions" / "views" / "zz_extra.sql"
    extra.write_text("""
        create or replace function leases.extra() returns int language sql return 1;
        create or replace function leases._extra_touched() returns trigger
        language plpgsql as $$ begin return null; end $$;
        create or replace view leases.extra_view as select leases.extra() as extra;
        create or replace view leases.extra_view_above as select extra from leases.extra_view;
        create or replace trigger extra_touched after truncate on leases.catalog
        execute function leases._extra_touched();
    """)
    migrate(dsn, sql_dir=tree)
    db.execute("create function leases.somebodys() returns int language sql return 1")
    before = functions(dsn)
    extra.unlink()
    report = migrate(dsn, sql_dir=tree)
    assert report.files == ()
    assert set(report.dropped) == {
        "function leases._extra_touched()",
        "function leases.extra()",
        "trigger extra_touched on leases.catalog",
        "view leases.extra_view",
        "view leases.extra_view_above",
    }
    assert functions(dsn) == before - {"leases.extra()", "leases._extra_touched()"}
    assert "leases.somebodys()" in functions(dsn)


def test_old_signature_goes_when_a_parameter_is_added(dsn, tree):
    file = tree / "functions" / "internal" / "zz_grows.sql"
    file.write_text(
        "create or replace function leases._grows(a int) returns int language sql return a;"
    )
    migrate(dsn, sql_dir=tree)
    file.write_text(
        "create or replace function leases._grows(a int, b int) returns int language sql return a;"
    )
    assert migrate(dsn, sql_dir=tree).dropped == ("function leases._grows(integer)",)
    assert {f for f in functions(dsn) if "_grows" in f} == {"leases._grows(integer,integer)"}


def test_older_version_refuses_a_newer_database(dsn, tree):
    add_migration(tree, "select 1;")
    migrate(dsn, sql_dir=tree)
    shutil.rmtree(tree)
    shutil.copytree(sql_folder(), tree)
    file = tree / "functions" / "internal" / "_now.sql"
    file.write_text(file.read_text() + "\n")
    with pytest.raises(MigrationError, match="newer"):
        migrate(dsn, sql_dir=tree)


def test_migration_edited_after_it_was_applied_is_told_and_not_run_again(dsn, tree):
    file = next((tree / "migrations").glob(f"{MIGRATIONS[0]}.sql"))
    file.write_text(file.read_text() + "\ncreate table leases.edited (a integer);\n")
    report = migrate(dsn, sql_dir=tree)
    assert report.altered == (f"migrations/{MIGRATIONS[0]}.sql",)
    assert not report.changed
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select to_regclass('leases.edited')").fetchone() == (None,)


def test_o2_long_transaction_is_waited_for_without_holding_workers_up(dsn, db, connect, tree):
    planner = connect(autocommit=False)
    planner.execute("select leases.plan_ranges(leases.add_group('a'), 1, 100, 20)")
    add_migration(tree, "alter table leases.ranges add column remark text;")
    node = db.execute("select leases.register_node('n') as id").fetchone()["id"]
    db.execute("select leases.plan_ranges(leases.add_group('b'), 1, 1000000, 20, size => 10)")
    lease = db.execute("select * from leases.lease_group(%s)", [node]).fetchone()["lease_id"]
    waits = []
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(migrate, dsn, sql_dir=tree, timeout=60)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            began = time.monotonic()
            got = db.execute("select * from leases.next_range(%s)", [lease]).fetchone()
            db.execute("select leases.finish_range(%s, %s)", [lease, got["range_id"]])
            waits.append(time.monotonic() - began)
        assert not running.done()
        planner.commit()
        assert running.result(30).migrations == ("9999.next",)
    assert max(waits) < 3.5
    assert len(waits) > 5


def test_o2_worker_of_the_version_before_goes_on_while_it_is_migrated(dsn, db, connect, tree):
    db.execute("select leases.plan_ranges(leases.add_group('a'), 1, 1000000, 20, size => 10)")
    node = db.execute("select leases.register_node('n') as id").fetchone()["id"]
    lease = db.execute("select * from leases.lease_group(%s)", [node]).fetchone()["lease_id"]
    add_migration(tree, "alter table leases.ranges add column remark text;")
    for file in (tree / "functions").rglob("*.sql"):
        file.write_text(file.read_text() + "\n")
    stop, done = threading.Event(), []

    def work():
        worker = connect()
        got = worker.execute("select * from leases.next_range(%s)", [lease]).fetchone()
        while not stop.is_set():
            done.append(got["start_id"])
            finish = "select * from leases.finish_and_next(%s, %s)"
            got = worker.execute(finish, [lease, got["range_id"]]).fetchone()

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        time.sleep(0.3)
        with ThreadPoolExecutor(2) as migrators:
            reports = list(migrators.map(lambda _: migrate(dsn, sql_dir=tree), range(2)))
        before = len(done)
        time.sleep(0.3)
        stop.set()
        working.result(10)
    assert sorted(len(r.migrations) for r in reports) == [0, 1]
    assert len(done) > before > 0
    assert done == list(range(1, 1 + 10 * len(done), 10))


def test_given_connection_is_used_and_left_as_it_was(blank):
    with psycopg.connect(blank, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("set search_path = public")
        assert migrate(connection).changed
        assert connection.execute("show search_path").fetchone() == {"search_path": "public"}
        assert connection.execute("show lock_timeout").fetchone() == {"lock_timeout": "0"}
        assert connection.row_factory is dict_row
    with psycopg.connect(blank) as connection:
        connection.execute("select 1")
        with pytest.raises(MigrationError, match="in a transaction"):
            migrate(connection)


def test_yoyos_tables_are_in_their_own_schema(dsn, db):
    rows = db.execute(
        "select relname from pg_class where relkind = 'r' and relnamespace = %s::regnamespace",
        [SCHEMA],
    )
    assert {r["relname"] for r in rows} == {
        "_yoyo_log",
        "_yoyo_migration",
        "_yoyo_version",
        "files",
    }
    assert (
        db.execute(
            "select count(*) from pg_class where relname ~ 'yoyo' and relkind = 'r'"
        ).fetchone()["count"]
        == 3
    )


def test_rollback_of_the_last_one_and_up_again(dsn, db, tree):
    add_migration(tree, "create table leases.later (a integer);", undo="drop table leases.later;")
    (tree / "functions" / "internal" / "zz_later.sql").write_text(
        "create or replace function leases._later() returns bigint language sql begin atomic"
        " select count(*) from leases.later; end;"
    )
    before = functions(dsn)
    migrate(dsn, sql_dir=tree)
    report = rollback(dsn, count=1, sql_dir=tree)
    assert report.migrations == ("9999.next",)
    assert functions(dsn) == set()
    assert db.execute(
        "select to_regclass('leases.later') as it, count(*) from leases.lanes"
    ).fetchone() == {
        "it": None,
        "count": 2,
    }
    assert len(migrate(dsn).files) == FILES
    assert functions(dsn) == before
