"""The sweep deletes what no lane needs, and only that."""

import os
import time
from datetime import timedelta

import pytest

import pyleases
from pyleases.sweep import sweep

DAY = 86_400


def age(path, seconds, **kwargs):
    then = time.time() - seconds
    os.utime(path, (then, then), **kwargs)


@pytest.fixture
def four(lease, folder):
    """Give the files of four snapshots, of which the lane keeps the last two."""
    lease.next_range()
    for n in range(1, 5):
        lease.put_snapshot(n, b"%d" % n)
    return sorted(folder.iterdir(), key=lambda f: int(f.name.split("-")[2]))


def test_p5_superseded_files_go_and_kept_ones_stay(leases, four, folder):
    report = sweep(leases)
    assert report.stale == tuple(f.name for f in four[:2])
    assert report.deleted == report.stale
    assert not report.failed
    assert sorted(folder.iterdir()) == sorted(four[2:])
    assert leases.stale_snapshots() == []
    assert sweep(leases) == pyleases.SweepReport()


def test_pending_file_stays(leases, lease, four, folder):
    _, file = lease.begin_snapshot(5)
    (folder / file).write_bytes(b"half")
    age(folder / file, 2 * DAY)
    sweep(leases)
    assert (folder / file).exists()


def test_file_that_is_gone_already_is_forgotten(leases, four):
    four[0].unlink()
    report = sweep(leases)
    assert report.gone == (four[0].name,)
    assert leases.stale_snapshots() == []


def test_unknown_files_of_the_scheme_go_once_they_are_a_day_old(leases, folder, lease):
    old = folder / "7-history-99999-0123abcd.gz"
    new = folder / "7-history-99998-0123abcd.gz"
    for file in (old, new):
        file.write_bytes(b"lost")
    age(old, DAY + 60)
    age(new, DAY - 60)
    report = sweep(leases)
    assert report.unknown == (old.name,)
    assert not old.exists()
    assert new.exists()
    assert sweep(leases, unknown_after=timedelta(0)).unknown == (new.name,)


def test_file_that_a_lost_holder_makes_after_its_row_was_forgotten_goes(leases, four, folder):
    sweep(leases)
    four[0].write_bytes(b"late")
    age(four[0], 2 * DAY)
    assert sweep(leases).unknown == (four[0].name,)


def test_nothing_else_is_touched(leases, folder, four, tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"dear")
    others = [
        folder / "README",
        folder / "7-history-5-ab.gz.part",
        folder / "7-History-5-ab.gz",
        folder / ".7-history-5-ab.gz",
        folder / "7-history-5-ab.gz\n",
    ]
    for file in others:
        file.write_bytes(b"mine")
        age(file, 30 * DAY)
    link = folder / "7-history-5-ab.gz"
    link.symlink_to(victim)
    age(link, 30 * DAY, follow_symlinks=False)
    inner = folder / "7-history-6-ab.gz"
    inner.mkdir()
    age(inner, 30 * DAY)
    for current in four[2:]:
        age(current, 30 * DAY)
    sweep(leases)
    assert victim.read_bytes() == b"dear"
    assert all(file.exists() for file in [*others, link, inner, *four[2:]])


def test_row_that_points_elsewhere_deletes_nothing(leases, four, db, tmp_path):
    victim = tmp_path / "victim.gz"
    victim.write_bytes(b"dear")
    (stale, _) = leases.stale_snapshots()
    db.execute(
        "update leases.snapshots set file = '../victim.gz' where snapshot_id = %s",
        [stale.snapshot_id],
    )
    report = sweep(leases)
    assert victim.exists()
    assert [file for file, _ in report.failed] == ["../victim.gz"]
    assert [s.snapshot_id for s in leases.stale_snapshots()] == [stale.snapshot_id]
    assert "../victim.gz" in str(report)


def test_file_that_can_not_be_deleted_is_told_and_kept_in_mind(leases, four):
    four[0].unlink()
    four[0].mkdir()
    report = sweep(leases)
    assert [file for file, _ in report.failed] == [four[0].name]
    assert report.stale == (four[1].name,)
    assert [s.file for s in leases.stale_snapshots()] == [four[0].name]


def test_missing_folder_forgets_nothing(leases, four, folder):
    folder.rename(folder.parent / "elsewhere")
    with pytest.raises(FileNotFoundError):
        sweep(leases)
    assert len(leases.stale_snapshots()) == 2
