"""The way in: `connect`, and `Leases` with everything that is not done under a lease."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool

from pyleases.errors import LeasesError
from pyleases.lease import Lease
from pyleases.retries import Retries, now
from pyleases.rows import (
    GroupStatus,
    IdleReason,
    LaneStatus,
    LogPlanned,
    RangeStatus,
    StaleSnapshot,
    columns,
    rows_of,
)
from pyleases.session import Given, Own, Pooled, Session
from pyleases.snapshots import Folder

__all__ = ["Leases", "connect"]

_Row = TypeVar("_Row")
_Answer = TypeVar("_Answer")
_RETRIES = Retries()

_LEASE_GROUP = """
    select lease_id, group_id, group_name, group_priority, lane, rules_version, rules, ttl, snapshot_id, snapshot_next
    from leases.lease_group(node_id => %s::bigint, lane => %s::text)
"""


def connect(
    conninfo: str | psycopg.Connection[Any] | ConnectionPool[Any] | None = None,
    *,
    snapshots: str | PathLike[str] | None = None,
    retries: Retries | None = _RETRIES,
    **kwargs: Any,
) -> Leases:
    """Connect to the database that holds the leases.

    ``conninfo`` is a libpq connection string or URI; where it is left out, and for what it leaves out, libpq's
    own environment and defaults count. Further keywords go to ``psycopg.connect``. The connection made of it is
    in autocommit, is made again by the next call after it broke, and prepares its statements unless it sees a
    pooler in between (PgBouncer in transaction mode, say) or ``prepare_threshold`` says otherwise. Threads may
    share it.

    Or it is a psycopg connection or a psycopg pool: it stays the caller's, as do its settings
    (``prepare_threshold=None`` behind a transaction-mode pooler) and, on a connection that is not in
    autocommit, the commit after each call. Until then nobody hears the holder.

    ``snapshots`` is the folder of the snapshot files. ``retries`` says how calls are repeated when the connection
    breaks, the server fails over, or a transaction can't be serialized; None: not at all. On a connection of the
    caller's nothing is ever repeated. Raises psycopg's errors where it can't connect; the first time is not repeated.
    """
    session: Session
    if isinstance(conninfo, psycopg.Connection | ConnectionPool):
        if kwargs:
            raise TypeError(
                f"{', '.join(kwargs)}: not for a connection or pool that is there already"
            )
        is_pool = isinstance(conninfo, ConnectionPool)
        session = Pooled(conninfo) if is_pool else Given(conninfo)  # type: ignore[arg-type]
        retries = retries if is_pool else None
    elif conninfo is None or isinstance(conninfo, str):
        session = Own(conninfo or "", kwargs)
    else:
        raise TypeError(
            f"a connection string, psycopg connection or pool, not {type(conninfo).__name__}"
        )
    return Leases(session, None if snapshots is None else Folder(Path(snapshots)), retries)


class Leases:
    """The functions of the schema ``leases``, a method each. Made by `connect`; a context manager.

    Ids are ints, priorities are better when lower, and article numbers run from 0 to 2^63-2. Any method may
    raise psycopg's own errors; ``psycopg.errors.InvalidParameterValue`` says that the arguments make no sense.
    """

    def __init__(
        self, session: Session, folder: Folder | None = None, retries: Retries | None = None
    ) -> None:
        self._session = session
        self._folder = folder
        self._retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, unless it or its pool is the caller's. Leases are not given back by this."""
        self._session.close()

    @property
    def folder(self) -> Folder:
        """The folder of the snapshot files. Raises `LeasesError` where `connect` was told none."""
        if self._folder is None:
            raise LeasesError("no folder for snapshots: connect(..., snapshots=FOLDER)")
        return self._folder

    # workers

    def register_node(self, name: str) -> int:
        """Register a worker machine and return its id; the same name gives the same id.

        Calls ``leases.register_node``.
        """
        return self._int("leases.register_node(name => %s::text)", name)

    def lease_group(self, node_id: int, lane: str = "history") -> Lease | None:
        """Lease the group that needs it most in this lane, or return None where there is none.

        A grant whose answer was lost is nobody's until its ttl is over; asking again gives another. Calls
        ``leases.lease_group``. Raises `NotFound` for an unknown node or lane.
        """

        def attempt() -> Lease | None:
            sent = now()
            rows = self._session.run(_LEASE_GROUP, (node_id, lane))
            return Lease(self, sent, *rows[0]) if rows else None

        return self._call(attempt)

    def release_node(self, node_id: int) -> int:
        """Give back all leases of the node and return how many: what a restarted worker calls first.

        Calls ``leases.release_node``. Raises `NotFound`.
        """
        return self._int("leases.release_node(node_id => %s::bigint)", node_id)

    def stale_snapshots(self) -> list[StaleSnapshot]:
        """List the superseded and aborted snapshots whose files are not yet said to be gone.

        Calls ``leases.stale_snapshots``.
        """
        return self._rows(StaleSnapshot, "leases.stale_snapshots()")

    def forget_snapshots(self, snapshot_ids: Sequence[int]) -> None:
        """Say that the files of these snapshots are gone.

        Calls ``leases.forget_snapshots``.
        """
        self._void("leases.forget_snapshots(snapshot_ids => %s::bigint[])", list(snapshot_ids))

    def unknown_snapshots(self, files: Sequence[str]) -> list[str]:
        """Return those of the file names that are no snapshot's, or a forgotten one's.

        Calls ``leases.unknown_snapshots``.
        """
        query = "select * from leases.unknown_snapshots(files => %s::text[])"
        return [file for (file,) in self._run(query, (list(files),))]

    def lane_of(self, priority: int) -> str | None:
        """Return the lane whose band the priority lies in, or None where it lies in none.

        Calls ``leases.lane_of``.
        """
        lane: str | None = self._value("leases.lane_of(priority => %s::integer)", priority)
        return lane

    # planners

    def add_group(
        self, name: str, *, priority: int | None = None, active: bool | None = None
    ) -> int:
        """Add a group, or change what is named of it, and return its id.

        A new group has priority 100 and is active unless told otherwise. Calls ``leases.add_group``.
        """
        return self._int(
            "leases.add_group(name => %s::text, priority => %s::integer, active => %s::boolean)",
            name,
            priority,
            active,
        )

    def plan_ranges(
        self,
        group_id: int,
        start_id: int,
        end_id: int,
        priority: int,
        *,
        capture: bool = False,
        size: int = 10_000,
    ) -> int:
        """Cover ``start_id..end_id`` with ranges of at most ``size`` articles; return the articles planned now.

        What any range of the group covers already is skipped. Calls ``leases.plan_ranges``. Raises `NotFound`.
        """
        return self._int(
            "leases.plan_ranges(group_id => %s::bigint, start_id => %s::bigint, end_id => %s::bigint, "
            "priority => %s::integer, capture => %s::boolean, size => %s::bigint)",
            group_id,
            start_id,
            end_id,
            priority,
            capture,
            size,
        )

    def plan_logs(
        self,
        names: Sequence[str],
        lows: Sequence[int],
        highs: Sequence[int],
        *,
        history_priority: int,
        tail_priority: int = 10,
        tail_last: int = 0,
        size: int = 10_000,
    ) -> list[LogPlanned]:
        """Plan logs from what their source says of them, all or none: ``lows[i]..highs[i]`` of ``names[i]``.

        What is there at first sight is history, but for its last ``tail_last`` articles; these, and what comes
        later, are the tail. Returns the groups that are new or changed. Calls ``leases.plan_logs``.
        """
        return self._rows(
            LogPlanned,
            "leases.plan_logs(names => %s::text[], lows => %s::bigint[], highs => %s::bigint[], "
            "history_priority => %s::integer, tail_priority => %s::integer, tail_last => %s::bigint, "
            "size => %s::bigint)",
            list(names),
            list(lows),
            list(highs),
            history_priority,
            tail_priority,
            tail_last,
            size,
        )

    def publish_rules(self, rules: Any) -> int:
        """Publish a rule set, any JSON value, and return its version: the current one from now on.

        Calls ``leases.publish_rules``.
        """
        return self._int("leases.publish_rules(rules => %s::jsonb)", Jsonb(rules), repeatable=False)

    def report_catalog(self, used_bytes: int, cap_bytes: int) -> None:
        """Report the catalog's size and cap, in bytes.

        Calls ``leases.report_catalog``.
        """
        self._void(
            "leases.report_catalog(used_bytes => %s::bigint, cap_bytes => %s::bigint)",
            used_bytes,
            cap_bytes,
        )

    # administrators

    def pause_lane(self, lane: str, reason: str) -> None:
        """Grant nothing in this lane until it is resumed; who holds a group goes on.

        Calls ``leases.pause_lane``. Raises `NotFound`.
        """
        self._once("leases.pause_lane(lane => %s::text, reason => %s::text)", lane, reason)

    def resume_lane(self, lane: str) -> None:
        """Grant in this lane again.

        Calls ``leases.resume_lane``. Raises `NotFound`.
        """
        self._once("leases.resume_lane(lane => %s::text)", lane)

    def end_lease(self, lease_id: int) -> None:
        """Take a lease away from its holder, as if it had gone quiet and been taken over.

        Calls ``leases.end_lease``. Raises `LeaseLost` where it has ended already.
        """
        self._once("leases.end_lease(lease_id => %s::bigint)", lease_id)

    def retry_range(self, range_id: int) -> None:
        """Plan a parked range again, its attempts forgotten.

        Calls ``leases.retry_range``. Raises `NotFound`.
        """
        self._once("leases.retry_range(range_id => %s::bigint)", range_id)

    def discard_snapshot(self, group_id: int, lane: str) -> None:
        """Drop the lane's current snapshot: it falls back to the one kept before, and its holder loses the lease.

        Calls ``leases.discard_snapshot``. Raises `NotFound`.
        """
        self._once(
            "leases.discard_snapshot(group_id => %s::bigint, lane => %s::text)", group_id, lane
        )

    def restart_group(self, group_id: int) -> None:
        """Begin the group anew, its log having been renumbered: its leases end, and its ranges go.

        Calls ``leases.restart_group``. Raises `NotFound`.
        """
        self._once("leases.restart_group(group_id => %s::bigint)", group_id)

    def after_restore(self) -> None:
        """End every lease after the database came back from a dump, a point in time or a lossy failover.

        Calls ``leases.after_restore``. Until it has run no worker may call.
        """
        self._once("leases.after_restore()")

    def set_priority(self, group_id: int, start_id: int, end_id: int, priority: int) -> int:
        """Move the planned ranges inside ``start_id..end_id`` that are not begun; return how many moved.

        Calls ``leases.set_priority``. Raises `NotFound`.
        """
        return self._int(
            "leases.set_priority(group_id => %s::bigint, start_id => %s::bigint, end_id => %s::bigint, "
            "priority => %s::integer)",
            group_id,
            start_id,
            end_id,
            priority,
            repeatable=False,
        )

    # looking

    def group_status(self, group_id: int | None = None) -> list[GroupStatus]:
        """Read the view ``leases.group_status``, of one group or of all."""
        return self._rows(
            GroupStatus,
            "leases.group_status where %s::bigint is null or group_id = %s::bigint",
            group_id,
            group_id,
        )

    def range_status(self, group_id: int | None = None) -> list[RangeStatus]:
        """Read the view ``leases.range_status`` in order, of one group or of all (which may be millions)."""
        return self._rows(
            RangeStatus,
            "leases.range_status where %s::bigint is null or group_id = %s::bigint "
            "order by group_id, start_id",
            group_id,
            group_id,
        )

    def lane_status(self) -> list[LaneStatus]:
        """Read the view ``leases.lane_status``."""
        return self._rows(LaneStatus, "leases.lane_status order by lane")

    def why_idle(self, lane: str, group_id: int | None = None) -> list[IdleReason]:
        """Tell each reason that `lease_group` would give nothing now (for that group, if named).

        Calls ``leases.why_idle``. Raises `NotFound`.
        """
        return self._rows(
            IdleReason, "leases.why_idle(lane => %s::text, group_id => %s::bigint)", lane, group_id
        )

    # the ways of calling

    def _call(
        self,
        attempt: Callable[[], _Answer],
        *,
        repeatable: bool = True,
        until: float | None = None,
    ) -> _Answer:
        """Make the attempt, and repeat it as `connect` was told."""
        if self._retries is None:
            return attempt()
        return self._retries.call(attempt, repeatable=repeatable, until=until)

    def _run(
        self, query: str, params: Sequence[Any], *, repeatable: bool = True
    ) -> list[tuple[Any, ...]]:
        return self._call(lambda: self._session.run(query, params), repeatable=repeatable)

    def _value(self, call: str, *params: Any, repeatable: bool = True) -> Any:
        return self._run(f"select {call}", params, repeatable=repeatable)[0][0]

    def _int(self, call: str, *params: Any, repeatable: bool = True) -> int:
        return int(self._value(call, *params, repeatable=repeatable))

    def _void(self, call: str, *params: Any, repeatable: bool = True) -> None:
        self._run(f"select {call}", params, repeatable=repeatable)

    def _once(self, call: str, *params: Any) -> None:
        """Make a person's call, who is told of a lost answer: another may have acted on it by now."""
        self._void(call, *params, repeatable=False)

    def _rows(self, row: type[_Row], source: str, *params: Any) -> list[_Row]:
        query = f"select {columns(row)} from {source}"  # noqa: S608
        return rows_of(row, self._run(query, params))
