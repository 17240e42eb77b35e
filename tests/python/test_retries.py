"""What the wrapper asks again, through a proxy that loses answers after the server has committed."""

import threading
import time
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

import pyleases
from tests.faults.wire import Wire

QUICK = pyleases.Retries(seconds=5, first=0.01, longest=0.2)


@pytest.fixture
def wire(dsn):
    """Give the proxy before the test's server."""
    server = conninfo_to_dict(dsn)
    if not str(server["host"]).startswith("/"):
        pytest.skip("the server has no socket to reach it by")
    with Wire(str(Path(server["host"]) / f".s.PGSQL.{server['port']}")) as wire:
        yield wire


@pytest.fixture
def through(dsn, wire):
    """Give the DSN that leads through the proxy."""
    return make_conninfo(
        dsn, host="127.0.0.1", port=wire.port, sslmode="disable", gssencmode="disable"
    )


@pytest.fixture
def remote(through, folder):
    """Give the wrapper on an own connection through the proxy."""
    with pyleases.connect(through, snapshots=folder, retries=QUICK) as leases:
        yield leases


@pytest.fixture
def held(remote, group):
    """Give a lease that is held through the proxy."""
    return remote.lease_group(remote.register_node("indexer-1"))


@pytest.fixture(params=["lose request", "lose answer", "cut in answer"])
def lost(request):
    """Go through what can be lost of a call."""
    return request.param


def heard_again(wire, lost, call):
    """Make the call with that lost at the first try."""
    wire.lose(lost)
    answer = call()
    assert wire.lost == {lost: 1}
    return answer


# what workers call


def test_n1_next_range(held, wire, lost):
    r = heard_again(wire, lost, held.next_range)
    assert (r.start_id, r.attempts) == (1, 1)


def test_f3_heartbeat(held, wire, lost, db):
    r = held.next_range()
    heard_again(wire, lost, lambda: r.progress(50))
    assert held.next_range().next_id == 50


def test_f2_finish_range(held, wire, lost, leases):
    r = held.next_range()
    heard_again(wire, lost, lambda: held.finish_range(r.range_id, headers=7))
    status = leases.group_status()[0]
    assert (status.ranges_done, status.headers) == (1, 7)


def test_f2_finish_and_next(held, wire, lost, leases):
    r = held.next_range()
    later = heard_again(wire, lost, lambda: held.finish_and_next(r.range_id, headers=7))
    assert (later.start_id, later.attempts) == (101, 1)
    status = leases.group_status()[0]
    assert (status.ranges_done, status.headers) == (1, 7)


def test_f4_fail_range(held, wire, lost, leases):
    r = held.next_range()
    heard_again(wire, lost, lambda: r.fail("a reason"))
    row = leases.range_status()[0]
    assert (row.status, row.attempts, row.last_error) == ("planned", 1, "a reason")


def test_r1_release_group(held, wire, lost, leases):
    held.next_range()
    heard_again(wire, lost, held.release_group)
    assert leases.group_status()[0].lease_id is None
    assert held.lost


def test_release_group_of_a_lease_that_was_taken_says_so(held, leases):
    leases.end_lease(held.lease_id)
    with pytest.raises(pyleases.LeaseLost):
        held.release_group()


def test_register_node(remote, wire, lost):
    node = heard_again(wire, lost, lambda: remote.register_node("indexer-7"))
    assert node == remote.register_node("indexer-7")


def test_release_node(held, remote, wire, lost, leases):
    heard_again(wire, lost, lambda: remote.release_node(remote.register_node("indexer-1")))
    assert leases.group_status()[0].lease_id is None


def test_lease_group_gives_another_where_the_answer_is_lost(remote, group, wire, leases):
    other = leases.add_group("comp.lang.eiffel")
    leases.plan_ranges(other, 1, 300, 50)
    node = remote.register_node("indexer-1")
    lease = heard_again(wire, "lose answer", lambda: remote.lease_group(node))
    held = {s.lease_id: s.group_id for s in leases.group_status()}
    assert len(held) == 2  # the first is nobody's until its ttl is over
    assert held[lease.lease_id] == lease.group_id
    assert lease.lease_id == max(held)


@pytest.mark.parametrize("nth", [1, 2, 3])  # the begin, the commit, and the look when it is read
def test_p4_put_snapshot(held, wire, lost, nth, folder):
    held.next_range()
    wire.lose(*["pass"] * (nth - 1), lost)
    held.put_snapshot(1, b"window")
    with held.open_snapshot() as body:
        assert body.read() == b"window"
    assert len(list(folder.iterdir())) == 1
    assert wire.lost == {lost: 1}


def test_p6_reject_snapshot(held, wire, lost):
    held.next_range()
    for at in (1, 20, 40):
        held.put_snapshot(at, b"window")
    current = held.current_snapshot()
    kept = heard_again(wire, lost, lambda: held.reject_snapshot(current))
    assert kept.next_id == 20
    assert held.current_snapshot() == kept


def test_abort_snapshot(held, wire, lost, db):
    snapshot_id, _ = held.begin_snapshot(1)
    heard_again(wire, lost, lambda: held.abort_snapshot(snapshot_id))
    assert [r["status"] for r in db.execute("select status from leases.snapshots")] == ["aborted"]


def test_l1_plan_ranges(remote, group, wire, lost, leases):
    heard_again(wire, lost, lambda: remote.plan_ranges(group, 301, 500, 50, size=100))
    assert [r.start_id for r in leases.range_status()] == [1, 101, 201, 301, 401]


def test_looking(remote, group, wire, lost):
    assert heard_again(wire, lost, remote.group_status)[0].group_id == group


# over a pool, over the caller's own, and not at all


def test_pool(through, wire, group, lost):
    with ConnectionPool(through, min_size=1, max_size=2, timeout=5, open=True) as pool:
        pool.wait()
        with pyleases.connect(pool, retries=QUICK) as leases:
            node = leases.register_node("indexer-1")
            r = heard_again(wire, lost, leases.lease_group(node).next_range)
            assert (r.start_id, r.attempts) == (1, 1)


def test_pool_whose_connections_all_broke(through, wire, group):
    slow = pyleases.Retries(seconds=30, first=1.0, longest=1.0)
    with ConnectionPool(through, min_size=8, max_size=8, timeout=5, open=True) as pool:
        pool.wait()
        with pyleases.connect(pool, retries=slow) as leases:
            wire.cut()
            began = time.monotonic()
            leases.register_node("indexer-1")
            assert time.monotonic() - began < 2.5  # one broke, and all were looked at


def test_callers_connection_is_never_asked_again(through, wire, lost):
    with psycopg.connect(through, autocommit=True) as connection:
        leases = pyleases.connect(connection, retries=QUICK)
        wire.lose(lost)
        with pytest.raises(psycopg.OperationalError):
            leases.register_node("indexer-1")


def test_switched_off(through, wire, lost):
    with pyleases.connect(through, retries=None) as leases:
        wire.lose(lost)
        with pytest.raises(psycopg.OperationalError):
            leases.register_node("indexer-1")
        leases.register_node("indexer-1")  # on a new connection


def test_first_connection_is_not_repeated(through, wire):
    wire.down()
    began = time.monotonic()
    with pytest.raises(psycopg.OperationalError):
        pyleases.connect(through)
    assert time.monotonic() - began < 2


# what people call


def test_what_is_not_safe_to_repeat_is_not(remote, held, wire, leases):
    held.next_range()
    for at in (1, 20, 40):
        held.put_snapshot(at, b"window")
    once = [
        lambda: remote.discard_snapshot(held.group_id, "history"),
        lambda: remote.publish_rules({"a": 1}),
        lambda: remote.restart_group(held.group_id),
        remote.after_restore,
    ]
    for call in once:
        remote.lane_of(1)  # connects again
        wire.lose("lose answer")
        with pytest.raises(psycopg.OperationalError):
            call()
    assert leases.publish_rules({}) == 2
    assert leases.group_status() == [] or leases.group_status()[0].snapshot_id is None


# by SQLSTATE


@pytest.fixture
def refuse(db):
    """Let the server refuse to register a node, with that SQLSTATE, so many times."""

    def refuse(state, times):
        db.execute("create sequence tries")
        db.execute(
            f"""
            create function refuse() returns trigger language plpgsql security definer as $$
            begin
                if nextval('public.tries') <= {times} then raise 'no' using errcode = '{state}'; end if;
                return new;
            end $$
            """
        )
        db.execute(
            "create trigger refuse before insert on leases.nodes for each row execute function refuse()"
        )

    return refuse


def tries(db):
    return db.execute("select last_value from tries").fetchone()["last_value"]


@pytest.mark.parametrize(
    "state", ["40001", "40P01", "25006", "53300", "57P01", "57P02", "57P03", "08006", "40003"]
)
def test_what_passes_by_itself_is_tried_again(leases, refuse, db, state):
    refuse(state, 3)
    assert leases.register_node("indexer-1")
    assert tries(db) == 4


@pytest.mark.parametrize("state", ["57014", "55P03", "22023", "42501", "23505", "XX000", "LS001"])
def test_what_does_not_pass_is_told_at_once(leases, refuse, db, state):
    refuse(state, 1)
    with pytest.raises(psycopg.Error) as caught:
        leases.register_node("indexer-1")
    assert caught.value.sqlstate == state
    assert tries(db) == 1


def test_server_that_takes_no_writes_is_left(leases, refuse):
    pid = leases._session._connection.info.backend_pid
    refuse("25006", 1)
    leases.register_node("indexer-1")
    assert leases._session._connection.info.backend_pid != pid


def test_it_is_not_tried_for_ever(dsn, refuse, db):
    refuse("40001", 1_000_000)
    began = time.monotonic()
    brief = pyleases.Retries(seconds=1, first=0.05, longest=0.2)
    with (
        pyleases.connect(dsn, retries=brief) as leases,
        pytest.raises(psycopg.errors.SerializationFailure),
    ):
        leases.register_node("indexer-1")
    assert 1 <= time.monotonic() - began < 2
    assert 5 < tries(db) < 40  # it backs off


def test_o3_serialization_failure_of_two_who_call_at_once(dsn, group, connect):
    serializable = "-c default_transaction_isolation=serializable"
    with (
        pyleases.connect(dsn, options=serializable) as here,
        connect(autocommit=False) as other,
    ):
        lease = here.lease_group(here.register_node("indexer-1"))
        r = lease.next_range()
        other.execute("select leases.heartbeat(lease_id => %s)", [lease.lease_id])
        later = []
        thread = threading.Thread(target=lambda: later.append(lease.finish_and_next(r.range_id)))
        thread.start()
        time.sleep(0.3)  # it waits for the lane, with a snapshot of before
        assert not later
        other.commit()
        thread.join(10)
        assert later[0].start_id == 101


# how long


@pytest.fixture
def brief(db, remote, group):
    """Give a lease with a ttl of two seconds."""
    db.execute("update leases.lanes set ttl = '2 seconds'")
    return remote.lease_group(remote.register_node("indexer-1"))


def test_short_outage_is_sat_out(brief, wire, db):
    brief.next_range()
    wire.down()
    threading.Timer(1.0, wire.up).start()
    assert brief.next_range().attempts == 1
    assert not brief.lost
    assert wire.refused > 2


def test_c19_after_a_ttl_without_an_answer_the_lease_is_lost_for_good(brief, wire, leases):
    brief.next_range()
    wire.down()
    began = time.monotonic()
    with pytest.raises(pyleases.LeaseLost) as caught:
        brief.heartbeat()
    assert 1.5 < time.monotonic() - began < 3.5
    assert caught.value.sqlstate == "LS001"
    wire.up()
    heard = leases.group_status()[0].heard_at
    for call in (
        brief.heartbeat,
        brief.next_range,
        brief.release_group,
        lambda: brief.put_snapshot(1, b""),
    ):
        with pytest.raises(pyleases.LeaseLost):
            call()
    assert leases.group_status()[0].heard_at == heard


def test_leaving_a_lease_that_is_lost_so_raises(brief, wire):
    wire.down()
    with pytest.raises(pyleases.LeaseLost), brief:
        pass
    wire.up()


def test_file_stays_where_the_commit_is_not_known(brief, wire, folder, take):
    brief.next_range()

    def fate():
        wire.is_down = wire.is_down or fate.calls == 1
        fate.calls += 1
        return "lose answer" if fate.calls == 2 else "pass"

    fate.calls = 0
    wire.fate = fate
    with pytest.raises(pyleases.LeaseLost):
        brief.put_snapshot(1, b"window")
    wire.up()
    time.sleep(0.5)  # the commit was heard a little later than what was last answered
    other = take("indexer-2")
    with other.open_snapshot() as body:
        assert body.read() == b"window"
