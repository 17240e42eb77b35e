"""A group with ranges, a node, a folder, and the wrapper around them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

import pyleases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give the folder of the snapshot files."""
    path = tmp_path / "snapshots"
    path.mkdir()
    return path


@pytest.fixture
def leases(dsn: str, folder: Path) -> Iterator[pyleases.Leases]:
    """Give the wrapper over a connection of its own."""
    with pyleases.connect(dsn, snapshots=folder) as leases:
        yield leases


@pytest.fixture
def group(leases: pyleases.Leases) -> int:
    """Give a group with three ranges of a hundred articles in the history lane."""
    group_id = leases.add_group("comp.lang.ada")
    assert leases.plan_ranges(group_id, 1, 300, 50, size=100) == 300
    return group_id


@pytest.fixture
def take(leases: pyleases.Leases, group: int) -> Callable[[str], pyleases.Lease]:
    """Lease the group as a node of that name."""

    def take(name: str = "indexer-1") -> pyleases.Lease:
        lease = leases.lease_group(leases.register_node(name))
        assert lease is not None
        assert lease.group_id == group
        return lease

    return take


@pytest.fixture
def lease(take: Callable[[], pyleases.Lease]) -> pyleases.Lease:
    """Give a lease on the group."""
    return take()


@pytest.fixture
def statuses(db: psycopg.Connection) -> Callable[[], list[str]]:
    """Give the statuses of all ranges, in order."""

    def statuses() -> list[str]:
        rows = db.execute("select status from leases.range_status order by group_id, start_id")
        return [row["status"] for row in rows]

    return statuses
