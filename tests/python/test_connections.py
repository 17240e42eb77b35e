"""Over what the calls can go: a DSN, libpq's environment, a connection, a pool, PgBouncer."""

import threading

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

import pyleases
from tests.faults.bouncer import Bouncer, find


def cycle(leases, name="indexer-1"):
    """Go through a group's life once, with a snapshot."""
    with leases.lease_group(leases.register_node(name)) as lease:
        for r in lease.ranges():
            r.progress(r.end_id)
            lease.put_snapshot(r.end_id + 1, [b"window"])
            with lease.open_snapshot() as body:
                assert body.read() == b"window"
    return leases.group_status()


def test_libpq_environment(dsn, monkeypatch, group):
    for key, value in conninfo_to_dict(dsn).items():
        name = {"dbname": "PGDATABASE"}.get(key, f"PG{key.upper()}")
        monkeypatch.setenv(name, str(value))
    with pyleases.connect() as leases:
        assert leases.group_status()[0].group_id == group


def test_own_connection_is_closed_and_says_so(dsn):
    with pyleases.connect(dsn) as leases:
        leases.lane_status()
    with pytest.raises(psycopg.InterfaceError):
        leases.lane_status()


def test_own_connection_is_made_again_after_it_broke(dsn, db, lease, leases):
    r = lease.next_range()
    db.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and application_name = 'pyleases'"
    )
    assert lease.next_range().range_id == r.range_id


def test_settings_reach_the_connection(dsn):
    with pyleases.connect(dsn, application_name="mine", prepare_threshold=None) as leases:
        assert leases._session._connection.prepare_threshold is None
        assert leases._session.run("show application_name") == [("mine",)]
    with pyleases.connect(dsn) as leases:
        assert leases._session._connection.prepare_threshold is not None


def test_callers_connection_stays_the_callers(dsn, folder, leases, group):
    with psycopg.connect(
        dsn, autocommit=True, row_factory=dict_row, cursor_factory=psycopg.ClientCursor
    ) as connection:
        with pyleases.connect(connection, snapshots=folder) as here:
            cycle(here)
        assert not connection.closed
        assert connection.row_factory is dict_row
    assert leases.range_status()[0].status == "done"


def test_callers_transaction_stays_the_callers(dsn, leases, group):
    with psycopg.connect(dsn) as connection:
        here = pyleases.connect(connection)
        node = here.register_node("indexer-1")
        assert here.lease_group(node)
        assert leases.group_status()[0].lease_id is None
        connection.rollback()
        node = here.register_node("indexer-1")
        lease = here.lease_group(node)
        connection.commit()
        assert leases.group_status()[0].lease_id == lease.lease_id


@pytest.mark.parametrize("autocommit", [True, False])
def test_pool(dsn, folder, group, autocommit):
    with ConnectionPool(
        dsn, min_size=1, max_size=2, kwargs={"autocommit": autocommit}, open=True
    ) as pool:
        with pyleases.connect(pool, snapshots=folder) as leases:
            assert cycle(leases)[0].ranges_done == 3
        assert not pool.closed


@pytest.mark.parametrize(
    ("name", "value"),
    [("DateStyle", "SQL, DMY"), ("IntervalStyle", "sql_standard"), ("TimeZone", "Asia/Kathmandu")],
)
def test_o3_settings_of_the_session_do_not_matter(dsn, folder, group, name, value):
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"set {name} = '{value}'")
        leases = pyleases.connect(connection, snapshots=folder)
        lease = leases.lease_group(leases.register_node("indexer-1"))
        assert lease.ttl.total_seconds() == 120
        lease.next_range()
        lease.put_snapshot(1, b"x")
        assert lease.current_snapshot().taken_at.utcoffset() is not None
        assert leases.group_status()[0].leased_at.utcoffset() is not None


@pytest.fixture
def bouncer(dsn):
    """Give the DSN of a PgBouncer in transaction mode with two server connections."""
    if not find():
        pytest.skip("no pgbouncer")
    server = conninfo_to_dict(dsn)
    where = {"dbname": server["dbname"], "user": server["user"]}
    with Bouncer(server["host"], server.get("port", "5432"), [server["user"]]) as running:
        running.wait(**where)
        yield make_conninfo(host=str(running.place), port=running.port, **where)


def test_c15_pgbouncer_in_transaction_mode(bouncer, folder, leases, db):
    for n in range(8):
        leases.plan_ranges(leases.add_group(f"group {n}"), 1, 60, 50, size=2)
    errors = []

    def work(n):
        try:
            with pyleases.connect(bouncer, snapshots=folder) as here:
                node = here.register_node(f"indexer-{n}")
                while lease := here.lease_group(node):
                    with lease:
                        for r in lease.ranges():
                            r.progress(r.end_id)
                        lease.put_snapshot(61, b"window")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {s.ranges_done for s in leases.group_status()} == {30}
