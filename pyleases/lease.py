"""A lease on one lane of one group, and the range in hand under it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import psycopg

from pyleases import snapshots
from pyleases.errors import LeaseLost
from pyleases.retries import came_after_lost_answer, is_unreachable, now
from pyleases.rows import Snapshot, columns, rows_of

if TYPE_CHECKING:
    from pyleases.client import Leases

__all__ = ["Lease", "Range"]

_RANGE = "range_id, start_id, end_id, next_id, priority, capture, attempts, rules_version"
_NEXT_RANGE = f"select {_RANGE} from leases.next_range(lease_id => %s::bigint)"  # noqa: S608
_FINISH_AND_NEXT = (
    f"select {_RANGE} from leases.finish_and_next("  # noqa: S608
    "lease_id => %s::bigint, range_id => %s::bigint, headers => %s::bigint)"
)
_FINISH_RANGE = "select leases.finish_range(lease_id => %s::bigint, range_id => %s::bigint, headers => %s::bigint)"
_FAIL_RANGE = (
    "select leases.fail_range(lease_id => %s::bigint, range_id => %s::bigint, reason => %s::text)"
)
_HEARTBEAT = "select leases.heartbeat(lease_id => %s::bigint, next_id => %s::bigint)"
_RELEASE_GROUP = "select leases.release_group(lease_id => %s::bigint)"
_BEGIN_SNAPSHOT = "select snapshot_id, file from leases.begin_snapshot(lease_id => %s::bigint, next_id => %s::bigint)"
_COMMIT_SNAPSHOT = (
    "select leases.commit_snapshot(lease_id => %s::bigint, snapshot_id => %s::bigint, "
    "bytes => %s::bigint, checksum => %s::text)"
)
_ABORT_SNAPSHOT = "select leases.abort_snapshot(lease_id => %s::bigint, snapshot_id => %s::bigint)"
_SNAPSHOT = columns(Snapshot)
_CURRENT_SNAPSHOT = f"select {_SNAPSHOT} from leases.current_snapshot(lease_id => %s::bigint)"  # noqa: S608
_REJECT_SNAPSHOT = (
    f"select {_SNAPSHOT} from leases.reject_snapshot("  # noqa: S608
    "lease_id => %s::bigint, snapshot_id => %s::bigint)"
)


@dataclass(slots=True)
class _Contact:
    """What this process knows of the lease: when the last answered word of the holder was sent."""

    heard: float
    ended: bool = False
    given_up: bool = False


@dataclass(slots=True, eq=False)
class Range:
    """A range in hand: read the articles ``next_id..end_id``. The fields are as it was handed out.

    Set ``headers`` to what was found in it, before it is finished.
    """

    _lease: Lease = field(repr=False)
    range_id: int
    start_id: int
    end_id: int
    next_id: int
    priority: int
    capture: bool
    attempts: int
    rules_version: int
    headers: int = 0
    _failed: bool = field(default=False, repr=False)

    def progress(self, next_id: int) -> None:
        """Tell that the window has read up to ``next_id``, the next article to read.

        Calls ``leases.heartbeat``. Raises `LeaseLost`, `RangeNotHeld`.
        """
        self._lease.heartbeat(next_id=next_id)

    def fail(self, reason: str) -> None:
        """Put the range back at its resume point, or park it after too many attempts.

        Tell first where the window stands, with `progress`. Without a limit of attempts the same range comes
        again next. Calls ``leases.fail_range``. Raises `LeaseLost`, `RangeNotHeld`.
        """
        self._lease.fail_range(self.range_id, reason)
        self._failed = True


@dataclass(frozen=True, eq=False)
class Lease:
    """One node's hold on one lane of one group, from `Leases.lease_group` to its end. A context manager.

    ``snapshot_id`` and ``snapshot_next`` are None where the lane has no snapshot; ``ttl`` is how long the
    holder may be silent. Leaving the context gives the group back.
    """

    _leases: Leases = field(repr=False)
    _sent: float = field(repr=False)
    lease_id: int
    group_id: int
    group_name: str
    group_priority: int
    lane: str
    rules_version: int
    rules: Any
    ttl: timedelta
    snapshot_id: int | None
    snapshot_next: int | None
    _contact: _Contact = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_contact", _Contact(self._sent))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._contact.ended:
            return
        if error is None:
            self.release_group()
            return
        try:
            self.release_group()
        except Exception as second:
            error.add_note(
                f"the group was not given back either: {type(second).__name__}: {second}"
            )

    @property
    def lost(self) -> bool:
        """Whether the lease has ended, or may have: for a ttl, no word of the holder was confirmed.

        Asks this machine only, by a clock that nobody sets. The database is asked by each call.
        """
        return self._contact.ended or now() - self._contact.heard > self.ttl.total_seconds()

    def ranges(self) -> Iterator[Range]:
        """Go through the ranges, finishing each as the loop comes round, until the lane is caught up.

        A range whose body raises, or breaks, is not finished: it stays in hand. Calls ``leases.next_range``,
        then ``leases.finish_and_next``. Raises `LeaseLost`.
        """
        hand = self.next_range()
        while hand is not None:
            yield hand
            hand = (
                self.next_range()
                if hand._failed
                else self.finish_and_next(hand.range_id, headers=hand.headers)
            )

    def next_range(self) -> Range | None:
        """Return the range in hand, else the next one, or None where the lane is caught up.

        Calls ``leases.next_range``. Raises `LeaseLost`.
        """
        return self._range(self._say(_NEXT_RANGE, (self.lease_id,)))

    def heartbeat(self, *, next_id: int | None = None) -> None:
        """Tell the database that this holder lives, and how far it has read.

        Calls ``leases.heartbeat``. Raises `LeaseLost` once the group is someone else's; with ``next_id``,
        `RangeNotHeld` where no range is in hand.
        """
        self._say(_HEARTBEAT, (self.lease_id, next_id))

    def finish_range(self, range_id: int, *, headers: int = 0) -> None:
        """Say that the range in hand is done, and how many headers were found in it.

        Calls ``leases.finish_range``. Raises `LeaseLost`, `RangeNotHeld`.
        """
        self._say(_FINISH_RANGE, (self.lease_id, range_id, headers))

    def finish_and_next(self, range_id: int, *, headers: int = 0) -> Range | None:
        """Do `finish_range` and `next_range` in one call.

        Calls ``leases.finish_and_next``. Raises `LeaseLost`, `RangeNotHeld`.
        """
        return self._range(self._say(_FINISH_AND_NEXT, (self.lease_id, range_id, headers)))

    def fail_range(self, range_id: int, reason: str) -> None:
        """Put the range in hand back at its resume point, or park it after too many attempts.

        Calls ``leases.fail_range``. Raises `LeaseLost`, `RangeNotHeld`.
        """
        self._say(_FAIL_RANGE, (self.lease_id, range_id, reason))

    def release_group(self) -> None:
        """Give the group back: what its snapshot does not cover is planned again.

        Calls ``leases.release_group``. Raises `LeaseLost`; not where it is told so after a lost answer, for whether
        given back then or taken over since, the lane was settled by its snapshot.
        """
        try:
            self._ask(_RELEASE_GROUP, (self.lease_id,))
        except LeaseLost as error:
            if self._contact.given_up or not came_after_lost_answer(error):
                raise
        self._contact.ended = True

    def put_snapshot(self, next_id: int, source: snapshots.Source) -> int:
        """Write a snapshot of the window, standing at ``next_id``, and make it current. Returns its id.

        ``source`` is a binary file object, read from where it stands to its end, or an iterable of bytes-like
        chunks of any size, or one bytes-like object; what it gives is stored as it is. Takes constant memory and
        heartbeats between the chunks, so a source may be slow, but should not pause for a ttl. File and folder
        are synced before the commit. Whatever goes wrong, Ctrl-C included, what was current stays so, and
        the half file is gone.

        Calls ``leases.begin_snapshot``, ``heartbeat`` and ``commit_snapshot``, or ``abort_snapshot``. Raises
        `LeaseLost`, ``psycopg.errors.InvalidParameterValue`` where no window can stand, OSError, and what the
        source raises. Where the connection was lost in the commit and the database can't be asked again, the
        file is left: it may be current, and else the sweep finds it.
        """
        return snapshots.put(self, self._leases.folder, next_id, source)

    def open_snapshot(self) -> AbstractContextManager[snapshots.Body | None]:
        """Open the lane's current snapshot in a ``with``: a readable binary stream, or None where there is none.

        Heartbeats as it is read. Size and checksum are checked as its last byte is read, and before that one is
        given, so a body that was read to its end is whole. A body that is left earlier was not checked.

        Calls ``leases.current_snapshot`` and ``heartbeat``. Raises `SnapshotMissing` where the file is gone;
        the reading raises `SnapshotCorrupt` for one that is not what was written, and `LeaseLost`.
        """
        return snapshots.opened(self, self._leases)

    def begin_snapshot(self, next_id: int) -> tuple[int, str]:
        """Begin a snapshot of the window standing at ``next_id``; return its id and the file name to write.

        Calls ``leases.begin_snapshot``. Raises `LeaseLost`.
        """
        snapshot_id, file = self._say(_BEGIN_SNAPSHOT, (self.lease_id, next_id))[0]
        return snapshot_id, file

    def commit_snapshot(self, snapshot_id: int, bytes: int, checksum: str) -> None:  # noqa: A002
        """Make a written snapshot current; ``bytes`` is its size, ``checksum`` is ``algorithm:hex``.

        Calls ``leases.commit_snapshot``. Raises `LeaseLost`, `SnapshotNotPending`.
        """
        self._say(_COMMIT_SNAPSHOT, (self.lease_id, snapshot_id, bytes, checksum))

    def abort_snapshot(self, snapshot_id: int) -> None:
        """Give up a snapshot that was begun.

        Calls ``leases.abort_snapshot``. Raises `LeaseLost`, `SnapshotNotPending`.
        """
        self._ask(_ABORT_SNAPSHOT, (self.lease_id, snapshot_id))

    def current_snapshot(self) -> Snapshot | None:
        """Return the lane's current snapshot, or None.

        Calls ``leases.current_snapshot``. Raises `LeaseLost`.
        """
        return _first(self._ask(_CURRENT_SNAPSHOT, (self.lease_id,)))

    def reject_snapshot(self, snapshot: Snapshot | int) -> Snapshot | None:
        """Fall back from a snapshot found missing or corrupt; return the one that is current then, or None.

        Drop the window and the range in hand. ``snapshot`` may be its id. Calls ``leases.reject_snapshot``.
        Raises `LeaseLost`, `SnapshotNotPending` where it was never the lane's.
        """
        snapshot_id = snapshot.snapshot_id if isinstance(snapshot, Snapshot) else snapshot
        return _first(self._ask(_REJECT_SNAPSHOT, (self.lease_id, snapshot_id)))

    def _range(self, rows: list[tuple[Any, ...]]) -> Range | None:
        return Range(self, *rows[0]) if rows else None

    def _say(self, query: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Make a call that counts as being heard (H3)."""

        def attempt() -> list[tuple[Any, ...]]:
            sent = now()
            rows = self._leases._session.run(query, params)
            self._contact.heard = sent
            return rows

        return self._try(attempt)

    def _ask(self, query: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Make a call that does not."""
        return self._try(lambda: self._leases._session.run(query, params))

    def _try(self, attempt: Callable[[], list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
        """Repeat the attempt within the ttl; after a ttl without any answer the lease is lost for good."""
        if self._contact.given_up:
            raise self._unheard()
        try:
            return self._leases._call(attempt, until=self._contact.heard + self.ttl.total_seconds())
        except LeaseLost:
            self._contact.ended = True
            raise
        except psycopg.Error as error:
            if is_unreachable(error) and self.lost:
                self._contact.ended = self._contact.given_up = True
                raise self._unheard() from error
            raise

    def _unheard(self) -> LeaseLost:
        return LeaseLost(
            f"the database could not be asked, and lease {self.lease_id} was not heard of for its ttl"
        )


def _first(rows: list[tuple[Any, ...]]) -> Snapshot | None:
    return next(iter(rows_of(Snapshot, rows)), None)
