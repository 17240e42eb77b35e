"""What the database answers, as frozen dataclasses: a field a column, in the columns' names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

__all__ = [
    "GroupStatus",
    "IdleReason",
    "LaneStatus",
    "LogPlanned",
    "RangeStatus",
    "Snapshot",
    "StaleSnapshot",
    "columns",
    "rows_of",
]

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A committed snapshot of a lane: the window standing at ``next_id``, and the file that holds it."""

    snapshot_id: int
    next_id: int
    file: str
    bytes: int
    checksum: str
    taken_at: datetime


@dataclass(frozen=True, slots=True)
class StaleSnapshot:
    """A superseded or aborted snapshot whose file is not yet said to be gone."""

    snapshot_id: int
    file: str


@dataclass(frozen=True, slots=True)
class IdleReason:
    """A reason that ``lease_group`` would give nothing now, with how many groups and ranges it keeps back."""

    reason: str
    groups: int | None
    ranges: int | None
    hint: str | None


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """A group's lane that has or had anything to do."""

    group_id: int
    group_name: str
    active: bool
    lane: str
    lease_id: int | None
    node_id: int | None
    node_name: str | None
    node_seen_at: datetime | None
    leased_at: datetime | None
    heard_at: datetime | None
    moved_at: datetime | None
    quiet: bool | None
    range_id: int | None
    ranges_offered: int
    articles_offered: int
    ranges_planned: int
    articles_planned: int
    ranges_parked: int
    ranges_done: int
    headers: int
    snapshot_id: int | None
    snapshot_next: int | None
    snapshot_at: datetime | None


@dataclass(frozen=True, slots=True)
class RangeStatus:
    """A range as it stands now; ``status`` is ``planned``, ``leased``, ``done`` or ``parked``."""

    range_id: int
    group_id: int
    lane: str
    start_id: int
    end_id: int
    next_id: int
    priority: int
    capture: bool
    status: str
    attempts: int
    last_error: str | None
    rules_version: int | None
    done_at: datetime | None


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """A lane over all groups; ``groups_waiting`` are free and have something to offer."""

    lane: str
    is_open: bool
    closed_because: str | None
    groups_held: int
    groups_quiet: int
    groups_waiting: int
    articles_offered: int
    ranges_parked: int


@dataclass(frozen=True, slots=True)
class LogPlanned:
    """What ``plan_logs`` planned of a group that is new or has changed, in articles."""

    group_id: int
    name: str
    is_new: bool
    history_articles: int
    tail_articles: int


def columns(row: type[Any]) -> str:
    """Return the select list of a row class. A column that a later version adds is not asked for."""
    return ", ".join(f.name for f in fields(row))


def rows_of(row: type[_Row], answer: Iterable[Sequence[Any]]) -> list[_Row]:
    """Make rows of an answer's tuples. Sums that PostgreSQL keeps as numeric become int."""
    return [row(*(int(v) if type(v) is Decimal else v for v in values)) for values in answer]
