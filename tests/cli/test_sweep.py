"""``pyleases sweep`` and ``pyleases status``, as a user runs them."""

from __future__ import annotations

import os
import time

import pytest

import pyleases


@pytest.fixture
def lane(dsn, tmp_path):
    """A group with three snapshots taken, the oldest of them superseded; its lease still held."""
    with pyleases.connect(dsn, snapshots=tmp_path) as leases:
        leases.plan_logs(["[odd] name"], [1], [40], history_priority=50, size=10)
        lease = leases.lease_group(leases.register_node("n1"))
        for r in lease.ranges():
            lease.put_snapshot(r.end_id + 1, [b"a window"])
            if r.end_id == 30:
                break
        yield lease


def test_sweep_deletes_stale_files_and_only_those(pyleases_cli, lane, tmp_path):
    before = {path.name for path in tmp_path.iterdir()}
    assert len(before) == 3
    (tmp_path / "notes.txt").write_text("mine")
    unknown = tmp_path / "999-history-999-0000000000000000.gz"
    for path in (unknown, tmp_path / "998-history-998-0000000000000000.gz.part"):
        path.write_bytes(b"")
        os.utime(path, times=(time.time() - 200_000,) * 2)
    fresh = tmp_path / "997-history-997-0000000000000000.gz"
    fresh.write_bytes(b"")

    out, err = pyleases_cli("sweep", "--snapshots", tmp_path)
    assert out.startswith("deleted 1 stale and ")
    assert err == ""
    left = {path.name for path in tmp_path.iterdir()}
    assert len(before - left) == 1
    assert {"notes.txt", fresh.name} <= left
    assert lane.current_snapshot().file in left

    out, _ = pyleases_cli("sweep", env={"PYLEASES_SNAPSHOTS": str(tmp_path)})
    assert out == "deleted 0 stale and 0 unknown snapshot files; 0 were gone already\n"


def test_sweep_wants_a_folder_that_is_there(pyleases_cli, tmp_path):
    _, err = pyleases_cli("sweep", "--snapshots", tmp_path / "not-there", code=2)
    assert "does not exist" in err
    _, err = pyleases_cli("sweep", code=2)
    assert "--snapshots" in err


def test_status_shows_lanes_and_who_holds_what(pyleases_cli, lane):
    out, err = pyleases_cli("status", env={"COLUMNS": "200"})
    assert err == ""
    assert "history" in out
    assert "[odd] name" in out
    assert "n1" in out
    assert "31" in out  # where its snapshot stands
    assert "\x1b" not in out


def test_status_of_nothing(pyleases_cli):
    out, _ = pyleases_cli("status")
    assert "tail" in out
    assert "held groups" not in out
