"""What can go wrong, by name.

The errors that the database raises are psycopg's too: psycopg raises them by their SQLSTATE, so they carry
``.sqlstate`` and ``.diag`` (``message_detail``, ``message_hint``), on any connection of the process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from pyleases.rows import Snapshot

__all__ = [
    "LeaseLost",
    "LeasesError",
    "NotFound",
    "OverlappingRange",
    "RangeNotHeld",
    "SnapshotCorrupt",
    "SnapshotMissing",
    "SnapshotNotPending",
    "SnapshotUnusable",
]


class LeasesError(Exception):
    """The base of all errors of this package."""


class LeaseLost(LeasesError, psycopg.DatabaseError, code="LS001"):  # noqa: N818
    """The lease was released, taken over or ended: stop work under it, and drop the window.

    Raised without asking the database where it cannot be asked and a ttl has gone by since it last answered.
    """


class RangeNotHeld(LeasesError, psycopg.DatabaseError, code="LS002"):  # noqa: N818
    """The range is not the one in hand, nor one that this lease has finished."""


class SnapshotNotPending(LeasesError, psycopg.DatabaseError, code="LS003"):  # noqa: N818
    """The snapshot was aborted or superseded, or is another lease's or another lane's."""


class OverlappingRange(LeasesError, psycopg.DatabaseError, code="LS004"):  # noqa: N818
    """The group has a range that covers some of these articles already."""


class NotFound(LeasesError, psycopg.DatabaseError, code="LS005"):  # noqa: N818
    """There is no such node, group, lane or range."""


class SnapshotUnusable(LeasesError):  # noqa: N818
    """The lane's current snapshot can't be read. Pass ``snapshot`` to `Lease.reject_snapshot` to fall back."""

    def __init__(self, message: str, snapshot: Snapshot) -> None:
        super().__init__(message, snapshot)
        self.snapshot = snapshot

    def __str__(self) -> str:
        return str(self.args[0])


class SnapshotMissing(SnapshotUnusable):
    """The file of the lane's current snapshot is not there."""


class SnapshotCorrupt(SnapshotUnusable):
    """The file of the lane's current snapshot is not what was written: drop what was read of it."""
