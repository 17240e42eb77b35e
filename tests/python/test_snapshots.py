"""Snapshot files: whole or not at all, whatever happens in between."""

import array
import errno
import gzip
import hashlib
import io
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import psycopg
import pytest
import zstandard

import pyleases

BODY = bytes(range(256)) * 12_000  # 3 MB, not a multiple of a chunk


def read(lease):
    with lease.open_snapshot() as body:
        return None if body is None else body.read()


def pending(db):
    return [
        row["status"]
        for row in db.execute("select status from leases.snapshots order by snapshot_id")
    ]


@pytest.fixture
def with_old(lease, folder):
    """Give a lease whose lane has a snapshot of the first range."""
    r = lease.next_range()
    lease.put_snapshot(1, b"old")
    r.progress(50)
    return lease


@pytest.fixture
def untouched(with_old, folder, db):
    """Check that what was current still is, that the half file is gone, and its snapshot aborted."""

    def untouched():
        assert read(with_old) == b"old"
        assert len(list(folder.iterdir())) == 1
        assert pending(db) == ["kept", "aborted"]

    return untouched


class Chunks:
    """A source that gives a chunk, does something, and goes on."""

    def __init__(self, action):
        self.action = action

    def __iter__(self):
        yield b"x" * 3_000_000
        self.action()
        yield b"y" * 3_000_000


def small_and_empty(body):
    start, size = 0, 0
    while start < len(body):
        yield body[start : start + size]
        start, size = start + size, (size + 1) % 100


SOURCES = {
    "file": lambda: io.BytesIO(BODY),
    "gzip file": lambda: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(BODY, 1))),
    "one chunk": lambda: [BODY],
    "bytes": lambda: BODY,
    "memoryview": lambda: memoryview(BODY),
    "bytearrays": lambda: [bytearray(BODY[i : i + 70_000]) for i in range(0, len(BODY), 70_000)],
    "small and empty ones": lambda: small_and_empty(BODY),
    "wide items": lambda: [array.array("I", BODY)],
    "two dimensions": lambda: [memoryview(BODY).cast("B", (1000, len(BODY) // 1000))],
    "read only": lambda: type("R", (), {"read": io.BytesIO(BODY).read})(),
    "raw file": lambda: io.FileIO(os.memfd_create("x"), "r+"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_put_is_what_is_read(lease, name, folder, take):
    source = SOURCES[name]()
    if name == "raw file":
        source.write(BODY)
        source.seek(0)
    lease.next_range()
    snapshot_id = lease.put_snapshot(1, source)
    snapshot = lease.current_snapshot()
    assert (snapshot.snapshot_id, snapshot.next_id, snapshot.bytes) == (snapshot_id, 1, len(BODY))
    assert (folder / snapshot.file).read_bytes() == BODY
    assert snapshot.checksum.startswith("xxh3_128:")
    lease.release_group()
    again = take("indexer-2")
    assert (again.snapshot_id, again.snapshot_next) == (snapshot_id, 1)
    assert read(again) == BODY


@pytest.mark.parametrize(
    "source", [b"", [], [b"", b""], io.BytesIO()], ids=["bytes", "none", "two", "file"]
)
def test_empty_snapshot_is_one(lease, source):
    lease.next_range()
    lease.put_snapshot(1, source)
    assert read(lease) == b""


def test_no_snapshot_is_none(lease):
    assert read(lease) is None


@pytest.mark.parametrize(
    "source",
    ["text", ["text"], [1], io.StringIO("text"), 5, None],
    ids=["str", "strs", "ints", "text file", "int", "none"],
)
def test_what_is_not_bytes_is_refused_and_nothing_is_left(with_old, source, untouched, folder):
    with pytest.raises((TypeError, ValueError)):
        with_old.put_snapshot(50, source)
    assert read(with_old) == b"old"
    assert len(list(folder.iterdir())) == 1


def test_stream_can_be_read_in_every_way(lease):
    lines = b"".join(b"%d\n" % n for n in range(100_000))
    lease.next_range()
    lease.put_snapshot(1, lines)
    with lease.open_snapshot() as body:
        assert list(body) == lines.splitlines(keepends=True)
        assert body.read() == body.read(1) == b""
    with lease.open_snapshot() as body:
        assert body.readable()
        assert not body.seekable()
        buffer = bytearray(1000)
        assert body.readinto(buffer) == 1000
        assert buffer == lines[:1000]
        assert body.peek(1)[:1] == lines[1000:1001]
        assert body.read(10) + body.read() == lines[1000:]
    with lease.open_snapshot() as body:
        assert body.readline() == b"0\n"  # and leave early: allowed, not checked
    with pytest.raises(ValueError):
        body.read()


def test_stream_fits_decompressors(lease):
    lease.next_range()
    lease.put_snapshot(1, gzip.compress(BODY, 1))
    with lease.open_snapshot() as body, gzip.open(body) as plain:
        assert plain.read() == BODY
    lease.put_snapshot(1, zstandard.ZstdCompressor().compress(BODY))
    with lease.open_snapshot() as body:
        assert zstandard.ZstdDecompressor().stream_reader(body).read() == BODY


def test_a_stream_can_be_put_again(lease):
    lease.next_range()
    lease.put_snapshot(1, BODY)
    with lease.open_snapshot() as body:
        lease.put_snapshot(1, body)
    assert read(lease) == BODY


def test_sha256_of_another_writer_is_verified(lease, folder):
    lease.next_range()
    for checksum, good in [(hashlib.sha256(BODY).hexdigest(), True), ("00" * 32, False)]:
        snapshot_id, file = lease.begin_snapshot(1)
        (folder / file).write_bytes(BODY)
        lease.commit_snapshot(snapshot_id, len(BODY), f"sha256:{checksum}")
        if good:
            assert read(lease) == BODY
        else:
            with pytest.raises(pyleases.SnapshotCorrupt, match="checksum"):
                read(lease)


def test_unknown_kind_of_checksum_is_not_called_corrupt(lease, folder):
    lease.next_range()
    snapshot_id, file = lease.begin_snapshot(1)
    (folder / file).write_bytes(BODY)
    lease.commit_snapshot(snapshot_id, len(BODY), "blake9:00")
    with pytest.raises(pyleases.LeasesError, match="blake9") as caught:
        read(lease)
    assert not isinstance(caught.value, pyleases.SnapshotUnusable)


# what goes wrong in writing


def test_error_of_the_source_is_the_error(with_old, untouched):
    with pytest.raises(ZeroDivisionError):
        with_old.put_snapshot(50, Chunks(lambda: 1 / 0))
    untouched()


def test_ctrl_c_while_writing(with_old, untouched):
    with pytest.raises(KeyboardInterrupt):
        with_old.put_snapshot(50, Chunks(lambda: os.kill(os.getpid(), signal.SIGINT)))
    untouched()


def test_lease_lost_while_writing(with_old, untouched, leases, take, db):
    with_old.heartbeat()

    def taken_over():
        leases.end_lease(with_old.lease_id)

    with pytest.raises(pyleases.LeaseLost):
        with_old.put_snapshot(50, Chunks(taken_over))
    assert pending(db) == ["kept", "aborted"]
    other = take("indexer-2")
    assert read(other) == b"old"


def test_half_file_of_a_lost_lease_is_gone(with_old, leases, folder):
    with pytest.raises(pyleases.LeaseLost):
        with_old.put_snapshot(50, Chunks(lambda: leases.end_lease(with_old.lease_id)))
    assert len(list(folder.iterdir())) == 1


def test_disk_full(with_old, folder, untouched):
    # RLIMIT_FSIZE with SIGXFSZ ignored (as Python does): the kernel refuses to write on.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(OSError) as caught:
            with_old.put_snapshot(50, BODY)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    untouched()


@pytest.fixture
def small_disk(tmp_path):
    """Give a folder on a file system of one megabyte, where root may make one."""
    path = tmp_path / "small"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "tmpfs", str(path)]
    try:
        made = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("no right to mount a small file system")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_disk_really_full(dsn, small_disk, group, leases, db):
    with pyleases.connect(dsn, snapshots=small_disk) as here:
        lease = here.lease_group(here.register_node("indexer-1"))
        lease.next_range()
        lease.put_snapshot(1, b"old")
        with pytest.raises(OSError) as caught:
            lease.put_snapshot(50, BODY)
        assert caught.value.errno == errno.ENOSPC
        assert read(lease) == b"old"
        assert len(list(small_disk.iterdir())) == 1
        assert pending(db) == ["kept", "aborted"]
        assert lease.put_snapshot(50, b"new")


@pytest.mark.parametrize("of_folder", [False, True])
def test_error_of_the_disk_in_syncing(with_old, untouched, monkeypatch, of_folder):
    def failing(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").is_dir() == of_folder:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError) as caught:
        with_old.put_snapshot(50, BODY)
    assert caught.value.errno == errno.EIO
    monkeypatch.undo()
    untouched()


def test_p3_file_that_is_there_already_is_not_written_over(
    with_old, folder, monkeypatch, untouched
):
    begin = type(with_old).begin_snapshot

    def begin_and_be_second(lease, next_id):
        snapshot_id, file = begin(lease, next_id)
        (folder / file).symlink_to(folder.parent / "victim")
        return snapshot_id, file

    monkeypatch.setattr(type(with_old), "begin_snapshot", begin_and_be_second)
    with pytest.raises(FileExistsError):
        with_old.put_snapshot(50, BODY)
    assert not (folder.parent / "victim").exists()


@pytest.mark.parametrize(
    "file", ["../victim.gz", "/tmp/victim.gz", "1-history-2-ab.gz/../x", "", "a.gz"]
)
def test_name_outside_the_scheme_is_refused(with_old, folder, db, file, leases):
    with pytest.raises(pyleases.LeasesError):
        pyleases.snapshots._checked_name(with_old, 2, file)
    db.execute("update leases.snapshots set file = %s", [file])
    with pytest.raises(pyleases.SnapshotCorrupt, match="name"):
        read(with_old)


def test_name_of_another_lane_is_refused(with_old, folder, db):
    db.execute("update leases.snapshots set file = replace(file, 'history', 'tail')")
    with pytest.raises(pyleases.SnapshotCorrupt, match="name"):
        read(with_old)


WRITER = """
import sys, time, pyleases
def chunks():
    yield b"x" * 3_000_000
    print("half", flush=True)
    time.sleep(60)
with pyleases.connect(sys.argv[1], snapshots=sys.argv[2]) as leases:
    lease = leases.lease_group(leases.register_node("indexer-9"))
    lease.put_snapshot(lease.next_range().next_id, chunks())
"""


def start_writer(dsn, folder):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, dsn, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout.readline() == "half\n"
    return writer


def test_kill_9_while_writing_leaves_the_old_one(with_old, dsn, folder, leases, take, db):
    with_old.release_group()
    writer = start_writer(dsn, folder)
    assert pending(db) == ["kept", "pending"]
    writer.kill()
    writer.wait()
    writer.stdout.close()
    assert len(list(folder.iterdir())) == 2
    leases.release_node(leases.register_node("indexer-9"))  # what the restarted worker calls first
    assert [s.file for s in leases.stale_snapshots()]
    lease = take()
    assert read(lease) == b"old"
    pyleases.sweep.sweep(leases)
    assert [f.name for f in folder.iterdir()] == [lease.current_snapshot().file]


def test_real_ctrl_c_of_a_process_leaves_nothing(with_old, dsn, folder, db):
    with_old.release_group()
    writer = start_writer(dsn, folder)
    writer.send_signal(signal.SIGINT)
    assert writer.wait(10) == -signal.SIGINT
    writer.stdout.close()
    assert len(list(folder.iterdir())) == 1
    assert pending(db) == ["kept", "aborted"]


# a commit whose answer is lost


class Lossy:
    """A session whose commit is made, or not, and whose answer is lost."""

    def __init__(self, session, made, error, times=1):
        self.session, self.made, self.error, self.times = session, made, error, times

    def run(self, query, params=()):
        if "commit_snapshot" in query and self.times:
            self.times -= 1
            if self.made:
                self.session.run(query, params)
            raise self.error
        return self.session.run(query, params)


@pytest.mark.parametrize("made", [True, False])
def test_commit_is_asked_again_after_a_lost_answer(with_old, leases, made, monkeypatch, folder):
    lost = psycopg.OperationalError("server closed the connection unexpectedly")
    monkeypatch.setattr(leases, "_session", Lossy(leases._session, made, lost))
    with_old.put_snapshot(50, b"new")
    assert read(with_old) == b"new"


def test_file_stays_where_a_lost_commit_was_made_and_the_lease_is_lost_then(
    with_old, leases, monkeypatch, take
):
    class TakenOver(Lossy):
        def run(self, query, params=()):
            try:
                return super().run(query, params)
            except psycopg.OperationalError:
                leases.end_lease(with_old.lease_id)
                raise

    lost = psycopg.OperationalError("server closed the connection unexpectedly")
    monkeypatch.setattr(leases, "_session", TakenOver(leases._session, True, lost))
    with pytest.raises(pyleases.LeaseLost):
        with_old.put_snapshot(50, b"new")
    other = take("indexer-2")
    assert other.snapshot_next == 50
    assert read(other) == b"new"


@pytest.mark.parametrize("made", [True, False])
def test_ctrl_c_in_the_commit(with_old, leases, made, monkeypatch, folder, db):
    monkeypatch.setattr(leases, "_session", Lossy(leases._session, made, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        with_old.put_snapshot(50, b"new")
    assert read(with_old) == (b"new" if made else b"old")
    assert len(list(folder.iterdir())) == 1 + made


def test_nothing_is_deleted_while_the_commit_is_not_known(with_old, leases, monkeypatch, folder):
    monkeypatch.setattr(leases, "_retries", None)
    lost = psycopg.OperationalError("server closed the connection unexpectedly")
    monkeypatch.setattr(leases, "_session", Lossy(leases._session, True, lost, times=99))
    with pytest.raises(psycopg.OperationalError):
        with_old.put_snapshot(50, b"new")
    monkeypatch.undo()
    assert read(with_old) == b"new"


def test_refused_commit_is_undone(with_old, leases, monkeypatch, untouched):
    refused = psycopg.errors.QueryCanceled("canceling statement due to user request")
    monkeypatch.setattr(leases, "_session", Lossy(leases._session, False, refused))
    with pytest.raises(psycopg.errors.QueryCanceled):
        with_old.put_snapshot(50, b"new")
    untouched()


# what goes wrong in reading


@pytest.fixture
def snapshot(with_old, folder):
    """Give the path of a current snapshot that holds the body."""
    with_old.put_snapshot(50, BODY)
    return folder / with_old.current_snapshot().file


def rejecting(lease, kind):
    """Reject what is unusable, and give what the lane falls back to."""
    with pytest.raises(kind) as caught:
        read(lease)
    rejected = lease.reject_snapshot(caught.value.snapshot)
    assert rejected == lease.current_snapshot()
    return read(lease)


@pytest.mark.parametrize("tenth", range(10))
def test_truncated_file_never_looks_like_an_end(with_old, snapshot, tenth):
    os.truncate(snapshot, len(BODY) * tenth // 10)
    assert rejecting(with_old, pyleases.SnapshotCorrupt) == b"old"


@pytest.mark.parametrize("at", [0, len(BODY) // 2, len(BODY) - 1])
def test_flipped_byte(with_old, snapshot, at):
    with snapshot.open("r+b") as file:
        file.seek(at)
        file.write(bytes([BODY[at] ^ 1]))
    assert rejecting(with_old, pyleases.SnapshotCorrupt) == b"old"


def test_last_byte_is_not_given_before_all_are_checked(with_old, snapshot):
    with snapshot.open("r+b") as file:
        file.write(b"\xff")
    with with_old.open_snapshot() as body:
        got = 0
        with pytest.raises(pyleases.SnapshotCorrupt):
            while chunk := body.read(1000):
                got += len(chunk)
        assert got < len(BODY)
        with pytest.raises(pyleases.SnapshotCorrupt):  # and it stays so
            body.read()


def test_trailing_junk(with_old, snapshot):
    with snapshot.open("ab") as file:
        file.write(b"junk")
    assert rejecting(with_old, pyleases.SnapshotCorrupt) == b"old"


@pytest.mark.parametrize("by", [-1, 1])
def test_file_that_changes_while_it_is_read(with_old, snapshot, by):
    with with_old.open_snapshot() as body:
        body.read(10)
        os.truncate(snapshot, len(BODY) + by)
        with pytest.raises(pyleases.SnapshotCorrupt):
            body.read()


def test_deleted_file(with_old, snapshot):
    snapshot.unlink()
    assert rejecting(with_old, pyleases.SnapshotMissing) == b"old"


def test_last_one_rejected_leaves_none(with_old, folder):
    for file in folder.iterdir():
        file.unlink()
    assert rejecting(with_old, pyleases.SnapshotMissing) is None
    assert with_old.next_range().start_id == 1


def test_missing_folder_is_not_a_missing_snapshot(with_old, folder):
    folder.rename(folder.parent / "elsewhere")
    with pytest.raises(FileNotFoundError):
        read(with_old)
    with pytest.raises(FileNotFoundError):
        with_old.put_snapshot(50, b"new")


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder"])
def test_what_is_no_regular_file_is_corrupt(with_old, snapshot, kind):
    copy = snapshot.rename(snapshot.parent.parent / "copy")
    {
        "symlink": lambda: snapshot.symlink_to(copy),
        "fifo": lambda: os.mkfifo(snapshot),
        "folder": snapshot.mkdir,
    }[kind]()
    assert rejecting(with_old, pyleases.SnapshotCorrupt) == b"old"


# heartbeats, and memory


@pytest.fixture
def quiet(connect):
    """Tell whether the holder counts as quiet."""
    connection = connect()
    connection.execute("set jit = off")

    def quiet():
        return connection.execute("select quiet from leases.group_status").fetchone()["quiet"]

    return quiet


def test_heartbeats_as_it_goes(group, db, take, quiet):
    db.execute("update leases.lanes set ttl = '2 seconds'")
    lease = take()
    lease.next_range()

    def slowly():
        for _ in range(5):
            time.sleep(0.6)
            assert not quiet()
            yield BODY

    lease.put_snapshot(1, slowly())
    with lease.open_snapshot() as body:
        for _ in range(5):
            time.sleep(0.6)
            assert not quiet()
            assert body.read(len(BODY))
    assert not lease.lost


def test_heartbeats_while_the_disk_is_slow(group, db, take, monkeypatch, quiet):
    db.execute("update leases.lanes set ttl = '1.5 seconds'")
    lease = take()
    lease.next_range()
    heard = []
    real = os.fsync

    def slow(descriptor):
        if threading.current_thread() is not threading.main_thread():
            time.sleep(3)
            heard.append(quiet())
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    lease.put_snapshot(1, BODY)
    assert heard == [False]


def test_reading_stops_when_the_lease_is_lost(leases, group, db, take):
    db.execute("update leases.lanes set ttl = '0.2 seconds'")
    lease = take()
    lease.next_range()
    lease.put_snapshot(1, BODY)
    with pytest.raises(pyleases.LeaseLost), lease.open_snapshot() as body:
        body.read(10)
        leases.end_lease(lease.lease_id)
        time.sleep(0.1)
        body.read()


def test_memory_does_not_grow_with_the_snapshot(lease):
    lease.next_range()
    chunk = bytes(1 << 16)
    tracemalloc.start()
    try:
        lease.put_snapshot(1, (chunk for _ in range(1024)))
        with lease.open_snapshot() as body:
            while body.read(1 << 16):
                pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
