"""Snapshot files: written whole or not at all, and checked as they are read.

What a snapshot is, and which one is current, the database knows. Here are only the bytes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import psycopg
import xxhash

from pyleases.errors import LeasesError, SnapshotCorrupt, SnapshotMissing
from pyleases.retries import came_after_lost_answer, is_uncertain

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

    from pyleases.client import Leases
    from pyleases.lease import Lease
    from pyleases.rows import Snapshot

__all__ = ["BinaryFile", "Body", "Folder", "Name", "Source", "opened", "put"]

_CHUNK = 1 << 20  # bytes that are read or written in one go
_BUFFER = 1 << 18  # of a reader: whoever reads more at once gets it without a copy
_DIGESTS: dict[str, Callable[[], Any]] = {"xxh3_128": xxhash.xxh3_128, "sha256": hashlib.sha256}
_WRITTEN = "xxh3_128"
_BEATS_A_TTL = 4


class BinaryFile(Protocol):
    """What a snapshot can be read from: ``readinto`` is used where there is one."""

    def read(self, size: int, /) -> ReadableBuffer:
        """Return at most this many bytes, none at the end."""
        ...


Body: TypeAlias = "io.BufferedReader[Any]"
Source: TypeAlias = "BinaryFile | Iterable[ReadableBuffer] | ReadableBuffer"


@dataclass(frozen=True)
class Name:
    """A snapshot file's name, in its parts: ``<group id>-<lane>-<snapshot id>-<random>.gz``."""

    group_id: int
    lane: str
    snapshot_id: int

    @classmethod
    def of(cls, file: str) -> Name | None:
        """Take a file name apart; None if it is not a snapshot's. None that is leads out of its folder."""
        match = re.fullmatch(
            r"([0-9]+)-([a-z][a-z0-9_]{0,30})-([0-9]+)-[0-9a-z]+\.gz", file, re.ASCII
        )
        return cls(int(match[1]), match[2], int(match[3])) if match else None


class Folder:
    """The folder of the snapshot files. Its files are reached through it once opened, and no link is followed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """Open the folder itself, which syncs it and names files in it. Raises OSError."""
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield folder
        finally:
            os.close(folder)


def put(lease: Lease, folder: Folder, next_id: int, source: Source) -> int:
    """Do what `Lease.put_snapshot` says."""
    chunks = _chunks(source)
    with folder.opened() as place:
        snapshot_id, file = lease.begin_snapshot(next_id)
        with _undone_on_error(lease, snapshot_id, file, place):
            size, checksum = _write(
                place, _checked_name(lease, snapshot_id, file), chunks, _Pulse(lease)
            )
            _commit(lease, snapshot_id, size, checksum)
    return snapshot_id


class _CommitUncertainError(Exception):
    """Carries the error of a commit that may have been made all the same."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


@contextlib.contextmanager
def _undone_on_error(lease: Lease, snapshot_id: int, file: str, place: int) -> Iterator[None]:
    """Delete the file and abort the snapshot, unless it may be current; the error is the body's."""
    try:
        yield
    except _CommitUncertainError as uncertain:
        raise uncertain.error from uncertain.error.__cause__
    except BaseException as error:
        # What stood there before is not ours. Nothing else raises this with the name in the folder.
        is_anothers = isinstance(error, FileExistsError) and error.filename == file
        if Name.of(file) and not is_anothers:
            with contextlib.suppress(OSError):
                os.unlink(file, dir_fd=place)
        with contextlib.suppress(Exception):
            lease.abort_snapshot(snapshot_id)
        raise


def _checked_name(lease: Lease, snapshot_id: int, file: str) -> str:
    if Name.of(file) != Name(lease.group_id, lease.lane, snapshot_id):
        raise LeasesError(f"{file!r} is no name for snapshot {snapshot_id} of this lane")
    return file


def _write(place: int, file: str, chunks: Iterable[memoryview], pulse: _Pulse) -> tuple[int, str]:
    """Write the file and sync it and its folder; return its size and checksum."""
    digest = _DIGESTS[_WRITTEN]()
    size = 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(file, flags, 0o640, dir_fd=place)
    with os.fdopen(descriptor, "wb") as out:
        for chunk in chunks:
            digest.update(chunk)
            out.write(chunk)
            size += len(chunk)
            pulse.beat()
        out.flush()
        pulse.beat_while(os.fsync, out.fileno())
    os.fsync(place)
    return size, f"{_WRITTEN}:{digest.hexdigest()}"


def _commit(lease: Lease, snapshot_id: int, size: int, checksum: str) -> None:
    """Commit, and tell where it may have been made though it failed.

    Refused after a lost answer: the first may have been made, and another holder may read this file.
    """
    try:
        lease.commit_snapshot(snapshot_id, size, checksum)
    except psycopg.Error as error:
        if is_uncertain(error) or came_after_lost_answer(error):
            raise _CommitUncertainError(error) from error
        raise
    except BaseException as error:
        if _may_be_current(lease, snapshot_id):
            raise _CommitUncertainError(error) from error
        raise


def _may_be_current(lease: Lease, snapshot_id: int) -> bool:
    try:
        current = lease.current_snapshot()
    except psycopg.Error:
        return True
    return current is not None and current.snapshot_id == snapshot_id


class _Pulse:
    """Heartbeats as long work goes on: one each quarter of the ttl, when called."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._every = lease.ttl.total_seconds() / _BEATS_A_TTL
        self._due = time.monotonic() + self._every

    def beat(self) -> None:
        """Heartbeat if it is time. Raises `LeaseLost`."""
        if time.monotonic() >= self._due:
            self._lease.heartbeat()
            self._due = time.monotonic() + self._every

    def beat_while(self, work: Callable[[int], None], argument: int) -> None:
        """Do in a thread what the kernel may take minutes for, and heartbeat meanwhile."""
        with ThreadPoolExecutor(1, thread_name_prefix="pyleases") as thread:
            future = thread.submit(work, argument)
            while True:
                try:
                    return future.result(max(0.0, self._due - time.monotonic()))
                except TimeoutError:
                    if future.done():  # the work's own error
                        raise
                self.beat()


def _chunks(source: Source) -> Iterator[memoryview]:
    """Take the source apart into views of at most `_CHUNK` bytes. Raises TypeError for what is not bytes."""
    if isinstance(source, str):
        raise TypeError("a snapshot is bytes, not str")
    if isinstance(source, bytes | bytearray | memoryview):
        return _pieces(source)
    if callable(getattr(source, "readinto", None)):
        return _read_into(source)
    if callable(getattr(source, "read", None)):
        return _read(source)
    if isinstance(source, Iterable):
        return (piece for chunk in source for piece in _pieces(chunk))
    return _pieces(source)


def _pieces(chunk: Any) -> Iterator[memoryview]:
    with memoryview(chunk) as view:
        if not view.nbytes:
            return
        flat = view.cast("B") if view.c_contiguous else memoryview(view.tobytes())
        for start in range(0, len(flat), _CHUNK):
            yield flat[start : start + _CHUNK]


def _read(source: Any) -> Iterator[memoryview]:
    while chunk := source.read(_CHUNK):
        yield from _pieces(chunk)
    if chunk is None:
        raise BlockingIOError(
            "the source of the snapshot does not block, and has nothing to read now"
        )


def _read_into(source: Any) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(_CHUNK))
    while count := source.readinto(buffer):
        yield buffer[:count]
    if count is None:
        raise BlockingIOError(
            "the source of the snapshot does not block, and has nothing to read now"
        )


@contextlib.contextmanager
def opened(lease: Lease, leases: Leases) -> Iterator[Body | None]:
    """Do what `Lease.open_snapshot` says."""
    snapshot = lease.current_snapshot()
    if snapshot is None:
        yield None
        return
    with (
        _Body(lease, leases.folder, snapshot) as body,
        io.BufferedReader(body, _BUFFER) as reader,
    ):
        yield reader


class _Body(io.RawIOBase):
    """A snapshot's bytes. The last of them is given only once all have been checked."""

    def __init__(self, lease: Lease, folder: Folder, snapshot: Snapshot) -> None:
        self._descriptor = -1
        self._snapshot = snapshot
        self._pulse = _Pulse(lease)
        self._left = snapshot.bytes
        self._flaw: str | None = None
        algorithm, _, self._expected = snapshot.checksum.partition(":")
        if algorithm not in _DIGESTS:
            raise LeasesError(
                f"snapshot {snapshot.snapshot_id} has a checksum of an unknown kind, {algorithm!r}"
            )
        self._digest = _DIGESTS[algorithm]()
        if Name.of(snapshot.file) != Name(lease.group_id, lease.lane, snapshot.snapshot_id):
            self._refuse("its name is not that of a snapshot of this lane")
        self._open(folder)

    def _open(self, folder: Folder) -> None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with folder.opened() as place:
            try:
                # To open a device can do things; so it is looked at before, and again once it is open.
                self._check_kind(os.stat(self._snapshot.file, dir_fd=place, follow_symlinks=False))
                self._descriptor = os.open(self._snapshot.file, flags, dir_fd=place)
            except FileNotFoundError as error:
                raise SnapshotMissing(
                    f"the file {self._snapshot.file} is not in {folder.path}", self._snapshot
                ) from error
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENXIO):  # a link or a socket, put there since
                    self._refuse("it is not a regular file")
                raise
        status = os.fstat(self._descriptor)
        self._check_kind(status)
        size = status.st_size
        if size != self._snapshot.bytes:
            self.close()
            self._refuse(f"it has {size} bytes, not {self._snapshot.bytes}")

    def _check_kind(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self.close()
            self._refuse("it is not a regular file")

    def _refuse(self, flaw: str) -> None:
        self._flaw = flaw
        raise SnapshotCorrupt(f"the file {self._snapshot.file} is corrupt: {flaw}", self._snapshot)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        # Whoever read from it would get past the checks.
        raise io.UnsupportedOperation("fileno")

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self._flaw:
            self._refuse(self._flaw)
        self._pulse.beat()
        with memoryview(buffer).cast("B") as view:
            if not len(view):
                return 0
            count = os.readv(self._descriptor, [view])
            self._digest.update(view[:count])
        self._left -= count
        if self._left < 0 or (self._left == 0 and count and os.read(self._descriptor, 1)):
            self._refuse(f"it has more than {self._snapshot.bytes} bytes")
        if self._left > 0 and not count:
            self._refuse(f"it ends {self._left} bytes early")
        if self._left == 0 and self._digest.hexdigest() != self._expected:
            self._refuse("its checksum is another")
        return count

    def close(self) -> None:
        if not self.closed and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        super().close()
