"""Deleting snapshot files that no lane needs any more, and only those."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from pyleases.snapshots import Name
from pyleases.text import printable

if TYPE_CHECKING:
    from pyleases.client import Leases
    from pyleases.rows import StaleSnapshot

__all__ = ["SweepReport", "sweep"]

_Item = TypeVar("_Item")
_BATCH = 1000


@dataclass(frozen=True)
class SweepReport:
    """What a sweep did, in file names."""

    stale: tuple[str, ...] = ()
    """Files of stale snapshots, deleted."""
    gone: tuple[str, ...] = ()
    """Files of stale snapshots that were not there any more."""
    unknown: tuple[str, ...] = ()
    """Old files named like a snapshot that the database does not know, deleted."""
    failed: tuple[tuple[str, OSError], ...] = ()
    """Files that could not be deleted, and why. The next sweep tries again."""

    @property
    def deleted(self) -> tuple[str, ...]:
        """All files that were deleted."""
        return self.stale + self.unknown

    def __str__(self) -> str:
        text = (
            f"deleted {len(self.stale)} stale and {len(self.unknown)} unknown snapshot files; "
            f"{len(self.gone)} were gone already"
        )
        return text + "".join(
            f"\nnot deleted: {printable(file)}: {printable(error.strerror or str(error))}"
            for file, error in self.failed
        )


def sweep(leases: Leases, *, unknown_after: timedelta = timedelta(days=1)) -> SweepReport:
    """Delete the files of stale snapshots, and files named like a snapshot that no row knows, once they are old.

    Current, kept and pending snapshots stay, as does whatever has another kind of name or is no regular file.
    Any number of sweeps may run at once. Calls ``leases.stale_snapshots``, ``forget_snapshots`` and
    ``unknown_snapshots``. Raises OSError where the folder can't be read; then nothing was forgotten.
    """
    with leases.folder.opened() as place:
        found = _Sweep(place)
        for batch in _batches(leases.stale_snapshots()):
            ids = [s.snapshot_id for s in batch if found.delete_stale(s)]
            os.fsync(place)  # what is said to be gone must not come back with the power
            leases.forget_snapshots(ids)
        for files in _batches(_old_files(place, unknown_after)):
            unknown = set(leases.unknown_snapshots(files))
            for file in files:  # and nothing else that the database may answer
                if file in unknown:
                    found.delete_unknown(file)
        return found.report()


class _Sweep:
    """The deleting, and what came of it."""

    def __init__(self, place: int) -> None:
        self._place = place
        self._stale: list[str] = []
        self._gone: list[str] = []
        self._unknown: list[str] = []
        self._failed: list[tuple[str, OSError]] = []

    def delete_stale(self, snapshot: StaleSnapshot) -> bool:
        """Delete its file; tell whether it is gone."""
        name = Name.of(snapshot.file)
        if name is None or name.snapshot_id != snapshot.snapshot_id:
            error = OSError(0, f"not the name of snapshot {snapshot.snapshot_id}")
            self._failed.append((snapshot.file, error))
            return False
        return self._delete(snapshot.file, self._stale)

    def delete_unknown(self, file: str) -> None:
        """Delete the file."""
        self._delete(file, self._unknown)

    def report(self) -> SweepReport:
        """Say what came of it."""
        return SweepReport(
            tuple(self._stale), tuple(self._gone), tuple(self._unknown), tuple(self._failed)
        )

    def _delete(self, file: str, deleted: list[str]) -> bool:
        try:
            _unlink(file, self._place)
        except FileNotFoundError:
            self._gone.append(file)
        except OSError as error:
            self._failed.append((file, error))
            return False
        else:
            deleted.append(file)
        return True


def _unlink(file: str, place: int) -> None:
    status = os.stat(file, dir_fd=place, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "not a regular file")
    os.unlink(file, dir_fd=place)


def _old_files(place: int, age: timedelta) -> Iterator[str]:
    """Find regular files named like a snapshot that nobody wrote to for so long."""
    limit = time.time() - age.total_seconds()
    with os.scandir(place) as entries:
        for entry in entries:
            if Name.of(entry.name) is None or not entry.is_file(follow_symlinks=False):
                continue
            try:
                modified = entry.stat(follow_symlinks=False).st_mtime
            except FileNotFoundError:  # another sweep was here
                continue
            if modified < limit:
                yield entry.name


def _batches(items: Iterable[_Item]) -> Iterator[Sequence[_Item]]:
    rest = iter(items)
    while batch := list(islice(rest, _BATCH)):
        yield batch
