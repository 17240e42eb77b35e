"""Leases on ordered ranges of numbered logs, in PostgreSQL: read in order, through a window that outlives its holder.

The logic is in the database, in the schema ``leases``; this package calls it and streams snapshot files.
"""

from pyleases.client import Leases, connect
from pyleases.errors import (
    LeaseLost,
    LeasesError,
    NotFound,
    OverlappingRange,
    RangeNotHeld,
    SnapshotCorrupt,
    SnapshotMissing,
    SnapshotNotPending,
    SnapshotUnusable,
)
from pyleases.lease import Lease, Range
from pyleases.retries import Retries
from pyleases.rows import (
    GroupStatus,
    IdleReason,
    LaneStatus,
    LogPlanned,
    RangeStatus,
    Snapshot,
    StaleSnapshot,
)
from pyleases.sweep import SweepReport

__all__ = [
    "GroupStatus",
    "IdleReason",
    "LaneStatus",
    "Lease",
    "LeaseLost",
    "Leases",
    "LeasesError",
    "LogPlanned",
    "NotFound",
    "OverlappingRange",
    "Range",
    "RangeNotHeld",
    "RangeStatus",
    "Retries",
    "Snapshot",
    "SnapshotCorrupt",
    "SnapshotMissing",
    "SnapshotNotPending",
    "SnapshotUnusable",
    "StaleSnapshot",
    "SweepReport",
    "connect",
]
