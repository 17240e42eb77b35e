"""Thin functions over the SQL functions: named notation in, dict rows out."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Db = psycopg.Connection[dict[str, Any]]
Row = dict[str, Any]

CHECKSUM = "xxh3_128:" + "0123456789abcdef" * 2
FAR = 9223372036854775806  # the highest article there can be


def rows(db: Db, sql: str, *args: object) -> list[Row]:
    return db.execute(sql, args).fetchall()


def row(db: Db, sql: str, *args: object) -> Row | None:
    found = rows(db, sql, *args)
    assert len(found) <= 1
    return found[0] if found else None


def value(db: Db, sql: str, *args: object) -> Any:
    found = row(db, sql, *args)
    return None if found is None else next(iter(found.values()))


def _id(thing: Any, column: str) -> Any:
    return thing[column] if isinstance(thing, dict) else thing


# planners -----------------------------------------------------------------------------------------


def group(db: Db, name: str = "comp.demo", **changes: object) -> int:
    given = {"name": name, **changes}
    args = ", ".join(f"{k} => %s" for k in given)
    return value(db, f"select leases.add_group({args})", *given.values())


def plan(
    db: Db,
    group_id: int,
    start: int | None,
    end: int | None,
    priority: int = 50,
    size: int | None = 100,
    capture: bool = False,
) -> int:
    return value(
        db,
        """select leases.plan_ranges(group_id => %s, start_id => %s, end_id => %s, priority => %s,
                                     capture => %s, size => %s)""",
        *(group_id, start, end, priority, capture, size),
    )


def planned(db: Db, name: str = "comp.demo", to: int = 300, **options: Any) -> int:
    """Make a group with articles 1 to ``to`` planned, a hundred a range."""
    group_id = group(db, name)
    plan(db, group_id, 1, to, **options)
    return group_id


def report_catalog(db: Db, used: int | None, cap: int | None) -> None:
    db.execute("select leases.report_catalog(used_bytes => %s, cap_bytes => %s)", (used, cap))


def publish(db: Db, rules: str = "{}") -> int:
    return value(db, "select leases.publish_rules(rules => %s::jsonb)", rules)


# workers ------------------------------------------------------------------------------------------


def node(db: Db, name: str | None = "n1") -> int:
    return value(db, "select leases.register_node(name => %s)", name)


def lease(db: Db, node_id: int | None, lane: str | None = "history") -> Row | None:
    return row(db, "select * from leases.lease_group(node_id => %s, lane => %s)", node_id, lane)


def held(db: Db, name: str = "n1", lane: str = "history") -> Row:
    """Lease for the node of that name, and be sure to get something."""
    got = lease(db, node(db, name), lane)
    assert got is not None, f"{name} was given nothing in {lane}"
    return got


def next_range(db: Db, lease_id: Any) -> Row | None:
    return row(db, "select * from leases.next_range(lease_id => %s)", _id(lease_id, "lease_id"))


def beat(db: Db, lease_id: Any, next_id: int | None = None) -> None:
    lease_id = _id(lease_id, "lease_id")
    if next_id is None:
        db.execute("select leases.heartbeat(lease_id => %s)", (lease_id,))
    else:
        db.execute("select leases.heartbeat(lease_id => %s, next_id => %s)", (lease_id, next_id))


def finish(db: Db, lease_id: Any, range_id: Any, headers: int | None = 0) -> None:
    db.execute(
        "select leases.finish_range(lease_id => %s, range_id => %s, headers => %s)",
        (_id(lease_id, "lease_id"), _id(range_id, "range_id"), headers),
    )


def finish_and_next(db: Db, lease_id: Any, range_id: Any, headers: int = 0) -> Row | None:
    return row(
        db,
        "select * from leases.finish_and_next(lease_id => %s, range_id => %s, headers => %s)",
        *(_id(lease_id, "lease_id"), _id(range_id, "range_id"), headers),
    )


def fail(db: Db, lease_id: Any, range_id: Any, reason: str | None = "broken") -> None:
    db.execute(
        "select leases.fail_range(lease_id => %s, range_id => %s, reason => %s)",
        (_id(lease_id, "lease_id"), _id(range_id, "range_id"), reason),
    )


def release(db: Db, lease_id: Any) -> None:
    db.execute("select leases.release_group(lease_id => %s)", (_id(lease_id, "lease_id"),))


def release_node(db: Db, node_id: int) -> int:
    return value(db, "select leases.release_node(node_id => %s)", node_id)


def begin(db: Db, lease_id: Any, next_id: int | None) -> Row:
    got = row(
        db,
        "select * from leases.begin_snapshot(lease_id => %s, next_id => %s)",
        *(_id(lease_id, "lease_id"), next_id),
    )
    assert got is not None
    return got


def commit(
    db: Db,
    lease_id: Any,
    snapshot_id: Any,
    size: int | None = 1000,
    checksum: str | None = CHECKSUM,
) -> None:
    db.execute(
        """select leases.commit_snapshot(lease_id => %s, snapshot_id => %s, bytes => %s,
                                         checksum => %s)""",
        (_id(lease_id, "lease_id"), _id(snapshot_id, "snapshot_id"), size, checksum),
    )


def snapshot(db: Db, lease_id: Any, next_id: int) -> int:
    begun = begin(db, lease_id, next_id)
    commit(db, lease_id, begun)
    return begun["snapshot_id"]


def abort(db: Db, lease_id: Any, snapshot_id: Any) -> None:
    db.execute(
        "select leases.abort_snapshot(lease_id => %s, snapshot_id => %s)",
        (_id(lease_id, "lease_id"), _id(snapshot_id, "snapshot_id")),
    )


def reject(db: Db, lease_id: Any, snapshot_id: Any) -> Row | None:
    return row(
        db,
        "select * from leases.reject_snapshot(lease_id => %s, snapshot_id => %s)",
        *(_id(lease_id, "lease_id"), _id(snapshot_id, "snapshot_id")),
    )


def current(db: Db, lease_id: Any) -> Row | None:
    return row(
        db, "select * from leases.current_snapshot(lease_id => %s)", _id(lease_id, "lease_id")
    )


def stale(db: Db) -> dict[int, str]:
    found = rows(db, "select * from leases.stale_snapshots()")
    return {r["snapshot_id"]: r["file"] for r in found}


def forget(db: Db, *snapshot_ids: int) -> None:
    db.execute(
        "select leases.forget_snapshots(snapshot_ids => %s::bigint[])", (list(snapshot_ids),)
    )


def read(db: Db, lease_id: Any, headers: int = 0) -> Row:
    """Take the next range and finish it."""
    got = next_range(db, lease_id)
    assert got is not None
    finish(db, lease_id, got, headers)
    return got


# administrators -----------------------------------------------------------------------------------


def pause(db: Db, lane: str | None = "history", reason: str | None = "maintenance") -> None:
    db.execute("select leases.pause_lane(lane => %s, reason => %s)", (lane, reason))


def resume(db: Db, lane: str | None = "history") -> None:
    db.execute("select leases.resume_lane(lane => %s)", (lane,))


def end_lease(db: Db, lease_id: Any) -> None:
    db.execute("select leases.end_lease(lease_id => %s)", (_id(lease_id, "lease_id"),))


def retry(db: Db, range_id: Any) -> None:
    db.execute("select leases.retry_range(range_id => %s)", (_id(range_id, "range_id"),))


def discard(db: Db, group_id: int, lane: str = "history") -> None:
    db.execute("select leases.discard_snapshot(group_id => %s, lane => %s)", (group_id, lane))


def restart_group(db: Db, group_id: int) -> None:
    db.execute("select leases.restart_group(group_id => %s)", (group_id,))


def after_restore(db: Db) -> None:
    db.execute("select leases.after_restore()")


def set_priority(db: Db, group_id: int, start: int, end: int, priority: int) -> int:
    return value(
        db,
        """select leases.set_priority(group_id => %s, start_id => %s, end_id => %s,
                                      priority => %s)""",
        *(group_id, start, end, priority),
    )


def setting(db: Db, lane: str = "history", **changes: object) -> None:
    assignments = ", ".join(f"{k} = %s" for k in changes)
    db.execute(f"update leases.lanes set {assignments} where lane = %s", (*changes.values(), lane))


def insert_range(db: Db, group_id: int, start: int, end: int, **columns: object) -> int:
    """Insert a range as an administrator does, by plain SQL."""
    given = {
        "group_id": group_id,
        "start_id": start,
        "end_id": end,
        "next_id": start,
        "priority": 50,
        "status": "planned",
        **columns,
    }
    names, marks = ", ".join(given), ", ".join(["%s"] * len(given))
    return value(
        db,
        f"insert into leases.ranges ({names}) values ({marks}) returning range_id",
        *given.values(),
    )


# looking ------------------------------------------------------------------------------------------


def ranges(db: Db, group_id: int) -> list[Row]:
    return rows(
        db, "select * from leases.range_status where group_id = %s order by start_id", group_id
    )


def status(db: Db, group_id: int) -> list[tuple[int, int, str]]:
    """Each range of the group as (start, resume point, status)."""
    return [(r["start_id"], r["next_id"], r["status"]) for r in ranges(db, group_id)]


def one(db: Db, range_id: Any) -> Row:
    got = row(
        db, "select * from leases.range_status where range_id = %s", _id(range_id, "range_id")
    )
    assert got is not None
    return got


def at(db: Db, group_id: int, start: int) -> Row:
    return next(r for r in ranges(db, group_id) if r["start_id"] == start)


def group_status(db: Db, group_id: int, lane: str = "history") -> Row:
    got = row(
        db,
        "select * from leases.group_status where group_id = %s and lane = %s",
        *(group_id, lane),
    )
    assert got is not None, f"no row for {lane} of group {group_id} in group_status"
    return got


def lane_status(db: Db, lane: str = "history") -> Row:
    got = row(db, "select * from leases.lane_status where lane = %s", lane)
    assert got is not None
    return got


def why(db: Db, lane: str = "history", group_id: int | None = None) -> list[Row]:
    if group_id is None:
        return rows(db, "select * from leases.why_idle(lane => %s)", lane)
    return rows(db, "select * from leases.why_idle(lane => %s, group_id => %s)", lane, group_id)


def everything(db: Db) -> list[list[Row]]:
    """What all the views show, to see that nothing changed."""
    return [
        rows(db, "select * from leases.range_status order by range_id"),
        rows(db, "select * from leases.group_status order by group_id, lane"),
        rows(db, "select * from leases.lane_status order by lane"),
        rows(db, "select * from leases.stale_snapshots() order by 1"),
    ]


# time and races -----------------------------------------------------------------------------------


@contextlib.contextmanager
def refused(*codes: str) -> Iterator[None]:
    """Expect an error of one of these SQLSTATEs; ours come with DETAIL and HINT."""
    with pytest.raises(psycopg.Error) as caught:
        yield
    error = caught.value
    assert error.sqlstate in codes, f"{error.sqlstate}: {error}"
    if error.sqlstate and (error.sqlstate.startswith("LS") or error.sqlstate == "22023"):
        assert error.diag.message_detail, f"{error.sqlstate} without DETAIL: {error}"
        assert error.diag.message_hint, f"{error.sqlstate} without HINT: {error}"


@contextlib.contextmanager
def allowing(*codes: str) -> Iterator[list[psycopg.Error]]:
    """Let an error of one of these SQLSTATEs pass, and tell of it."""
    seen: list[psycopg.Error] = []
    try:
        yield seen
    except psycopg.Error as error:
        if error.sqlstate not in codes:
            raise
        seen.append(error)


@contextlib.contextmanager
def quietness(db: Db, lane: str = "history") -> Iterator[None]:
    """Let every holder of the lane go quiet; inside, a ttl is less than half a second."""
    setting(db, lane, ttl="0.4 seconds")
    time.sleep(0.45)
    yield
    setting(db, lane, ttl="2 minutes")


def take_over(db: Db, name: str = "n2", lane: str = "history") -> Row:
    """Let the holders of the lane go quiet and lease for another node."""
    taker = node(db, name)
    setting(db, lane, ttl="0.001 seconds")
    time.sleep(0.01)
    got = lease(db, taker, lane)
    setting(db, lane, ttl="2 minutes")
    assert got is not None, f"{name} took nothing over in {lane}"
    return got


def impatient(connection: Db, timeout: str = "2s") -> Db:
    """Make a connection that fails rather than waits."""
    connection.execute("select set_config('statement_timeout', %s, false)", (timeout,))
    return connection


class Background:
    """A call in a thread of its own, and what came of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:
            self.error = error

    def wait(self, timeout: float = 10) -> Any:
        self._thread.join(timeout)
        assert not self._thread.is_alive(), "the call still waits"
        if self.error:
            raise self.error
        return self.result


def wait_until_blocked(db: Db, connection: Db, timeout: float = 3) -> bool:
    """Wait until that connection waits for a lock; false if it never does."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        waits = value(
            db,
            "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s",
            connection.info.backend_pid,
        )
        if waits:
            return True
        time.sleep(0.02)
    return False


def open_transaction(connection: Db, isolation: str = "read committed") -> Db:
    """Begin a transaction whose snapshot, above READ COMMITTED, is taken here and now."""
    connection.execute(f"begin isolation level {isolation}")
    connection.execute("select count(*) from leases.lanes")
    return connection
