"""The snapshots folder and the rows that name its files: nothing outside the folder is read, written or deleted."""

from __future__ import annotations

import os
import socket
import threading
import time
from datetime import timedelta

import pytest

import pyleases
from pyleases.sweep import sweep
from tests.python.conftest import *  # noqa: F403  the wrapper's fixtures

WINDOW = b"the window, 26 bytes long."
SECRET = b"a secret, 26 bytes as well"


@pytest.fixture
def secret(tmp_path):
    """Give a file beside the folder that nobody may read or delete."""
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def current(lease, folder):
    """Give the file of the lane's only snapshot."""
    lease.next_range()
    lease.put_snapshot(2, WINDOW)
    (file,) = folder.iterdir()
    return file


def read(lease):
    with lease.open_snapshot() as body:
        return body.read()


# a row that was edited by hand ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "file",
    [
        "{secret}",
        "../secret",
        "./{name}",
        "{folder}/{name}",
        "{name}/../../secret",
        "{name}\n",
        "{name}\x1b[2J",
        "{name}.gz/",
        "",
        ".",
        "..",
        "1-history-1-../../secret",
        "1-history-99-00.gz",
        "2-history-1-00.gz",
        "1-tail-1-00.gz",
        "1-HISTORY-1-00.gz",
        "\uff11-history-1-00.gz",
    ],
)
def test_row_that_names_another_file(db, lease, leases, current, secret, folder, file):
    """Reading refuses it, and so does the sweep; both say so, and the lane falls back."""
    for name in ("1-history-99-00.gz", "2-history-1-00.gz", "1-tail-1-00.gz"):
        (folder / name).write_bytes(WINDOW)
    before = {f.name for f in folder.iterdir()}
    named = file.format(secret=secret, name=current.name, folder=folder)
    db.execute("update leases.snapshots set file = %s", [named])
    with pytest.raises(pyleases.SnapshotCorrupt, match="name") as caught:
        read(lease)
    db.execute("update leases.snapshots set status = 'stale'")
    if "-1-00" in named:  # no other snapshot has that number
        return
    report = sweep(leases)
    assert [file for file, _ in report.failed] == [named]
    assert {f.name for f in folder.iterdir()} == before
    assert secret.read_bytes() == SECRET
    assert [s.snapshot_id for s in leases.stale_snapshots()] == [caught.value.snapshot.snapshot_id]
    assert lease.reject_snapshot(caught.value.snapshot) is None


def test_two_rows_can_not_name_one_file(db, lease, current):
    lease.put_snapshot(3, WINDOW)
    with pytest.raises(Exception, match="snapshots_file_key"):
        db.execute("update leases.snapshots set file = %s", [current.name])


@pytest.mark.parametrize(
    "file", ["../secret", "/tmp/secret.gz", "1-history-2-0/../../x.gz", "1-tail-2-0.gz"]
)
def test_answer_of_begin_snapshot_that_leads_elsewhere(
    lease, current, folder, secret, monkeypatch, file
):
    """As a database gone wrong would give it."""
    begin = type(lease).begin_snapshot
    monkeypatch.setattr(
        type(lease), "begin_snapshot", lambda lease, next_id: (begin(lease, next_id)[0], file)
    )
    with pytest.raises(pyleases.LeasesError, match="no name"):
        lease.put_snapshot(3, WINDOW)
    assert list(folder.iterdir()) == [current]
    assert secret.read_bytes() == SECRET


@pytest.mark.parametrize("answer", ["../secret", "{secret}", "notes", ".", "7-history-6-00.gz"])
def test_answer_of_unknown_snapshots_that_was_not_asked_about(
    leases, folder, secret, monkeypatch, answer
):
    lost, young = folder / "7-history-5-00.gz", folder / "7-history-6-00.gz"
    for file in (lost, young, folder / "notes"):
        file.write_bytes(b"dear")
    os.utime(lost, (0, 0))
    answer = answer.format(secret=secret)
    monkeypatch.setattr(type(leases), "unknown_snapshots", lambda self, files: [answer, *files])
    assert sweep(leases).deleted == (lost.name,)
    assert secret.read_bytes() == SECRET
    assert {f.name for f in folder.iterdir()} == {young.name, "notes"}


def test_file_that_is_there_already_is_neither_written_nor_deleted(
    lease, current, folder, secret, monkeypatch
):
    begin = type(lease).begin_snapshot
    names = []

    def begin_and_be_second(lease, next_id):
        snapshot_id, file = begin(lease, next_id)
        names.append(folder / file)
        os.link(secret, folder / file)
        return snapshot_id, file

    monkeypatch.setattr(type(lease), "begin_snapshot", begin_and_be_second)
    with pytest.raises(FileExistsError):
        lease.put_snapshot(3, WINDOW)
    assert names[0].samefile(secret)
    assert secret.read_bytes() == SECRET
    assert read(lease) == WINDOW


# what stands in the folder under a snapshot's name ------------------------------------------------------


def symbolic_link(path, secret):
    path.symlink_to(secret)


def link_to_itself(path, secret):
    path.symlink_to(path)


def link_to_a_device(path, secret):
    path.symlink_to("/dev/zero")


def link_beside(path, secret):
    other = path.with_name("copy")
    other.write_bytes(WINDOW)
    path.symlink_to("copy")


def hard_link(path, secret):
    os.link(secret, path)


def fifo(path, secret):
    os.mkfifo(path)


def folder_(path, secret):
    path.mkdir()


def socket_(path, secret):
    here = os.getcwd()  # noqa: PTH109  socket paths are short
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind("s")
        os.rename("s", path.name)  # noqa: PTH104
    finally:
        os.chdir(here)


def device(path, secret):
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only root makes devices")


KINDS = [
    symbolic_link,
    link_to_itself,
    link_to_a_device,
    link_beside,
    hard_link,
    fifo,
    folder_,
    socket_,
    device,
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_of_ours_is_not_read(lease, current, secret, kind):
    current.unlink()
    kind(current, secret)
    with pytest.raises(pyleases.SnapshotCorrupt):
        read(lease)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", KINDS)
def test_sweep_deletes_at_most_the_name(db, leases, current, folder, secret, kind):
    current.unlink()
    kind(current, secret)
    unknown = folder / "7-history-5-00.gz"
    kind(unknown, secret)
    db.execute("update leases.snapshots set status = 'stale'")
    report = sweep(leases, unknown_after=timedelta(seconds=-5))
    assert secret.read_bytes() == SECRET
    if kind is hard_link:
        assert set(report.deleted) == {current.name, unknown.name}
    else:
        assert report.deleted == ()
        assert [file for file, _ in report.failed] == [current.name]
        assert current.is_symlink() or current.exists()
        assert unknown.is_symlink() or unknown.exists()


@pytest.mark.timeout(60)
def test_a_link_put_there_between_two_looks_is_not_followed(lease, current, secret):
    """While the file is changed for a link, and back, as fast as can be."""
    spare, link = current.with_name("spare"), current.with_name("link")
    os.link(current, spare)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            link.symlink_to(secret)
            link.replace(current)
            os.link(spare, link)
            link.replace(current)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = {"whole": 0, "refused": 0}
    try:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            try:
                assert read(lease) == WINDOW
                seen["whole"] += 1
            except pyleases.SnapshotUnusable:
                seen["refused"] += 1
    finally:
        stop.set()
        swapping.join()
    assert min(seen.values()) > 0, seen


def test_files_are_not_for_everybody(lease, current):
    assert current.stat().st_mode & 0o007 == 0
