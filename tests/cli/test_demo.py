"""The main job's proof: it holds when all is well, and fails for every kind of harm to a tape."""

from __future__ import annotations

import gzip
import io
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, ClassVar

import psycopg
import pytest

from pyleases.active import Group
from pyleases.demo.arrivals import answer_of, spans_of
from pyleases.demo.proof import Snapshot, prove
from pyleases.demo.tape import Run, Tape, TapeError
from pyleases.demo.worker import history_of

if TYPE_CHECKING:
    from pathlib import Path


def tape(*runs):
    return Tape("g", "history", [Run(first, last, "n1") for first, last in runs])


@pytest.mark.parametrize(
    ("runs", "fault"),
    [
        ([(1, 40), (42, 100)], "41..41 is not there before 42"),
        ([(2, 100)], "1..1 is not there before 2"),
        ([(1, 99)], "100..100 is not there at the end"),
        ([], "1..100 is not there at the end"),
        ([(1, 40), (40, 100)], "40..40 is read again or out of order"),
        ([(1, 100), (1, 100)], "1..100 is read again or out of order"),
        ([(1, 101)], "101..101 was never planned"),
        ([(0, 100)], "0..0 is read again or out of order"),
        ([(1, 40), (61, 100), (41, 60)], "41..60 is not there before 61"),
        ([(1, 100), (100, 99)], "100..99 runs backwards"),
    ],
)
def test_a_tape_tells_what_is_wrong_with_it(runs, fault):
    assert fault in list(tape(*runs).faults(1, 100))


def test_a_whole_tape_has_no_faults_whoever_read_it():
    good = tape((1, 40))
    good.read(41, 60, "n2")
    good.read(61, 100, "n2")
    assert good.runs == [Run(1, 40, "n1"), Run(41, 100, "n2")]
    assert list(good.faults(1, 100)) == []
    assert good.articles == 100


def test_a_tape_is_read_back_as_it_was():
    before = tape((1, 40), (41, 2**62))
    assert Tape.load(io.BytesIO(before.dump())) == before


def test_half_a_tape_is_no_tape():
    whole = tape((1, 40), (42, 100)).dump()
    for damaged in (
        b"",
        whole[:-9],
        whole[: len(whole) // 2],
        gzip.compress(gzip.decompress(whole).rsplit(b"[", 1)[0]),
        gzip.compress(b"[1, 2]"),
        b"not gzip",
    ):
        with pytest.raises(TapeError):
            Tape.load(io.BytesIO(damaged))


def test_what_is_expected_comes_from_the_lists_alone(tmp_path):
    lists = [
        [Group("a", 3, 9), Group("b", 1, 0), Group("c", 5, 4)],
        [Group("a", 3, 12), Group("b", 1, 2), Group("c", 5, 4), Group("d", 7, 7)],
        [Group("a", 3, 15), Group("b", 1, 2), Group("c", 5, 4), Group("d", 7, 7)],
    ]
    for i, groups in enumerate(lists):
        (tmp_path / f"{i}.active").write_bytes(answer_of(groups))
    assert spans_of(tmp_path) == {
        ("a", "history"): (3, 9),
        ("a", "tail"): (10, 15),
        ("b", "tail"): (1, 2),
        ("d", "history"): (7, 7),
    }


class TestTampering:
    """Each of these is done to one file of a good set, and has to be found."""

    SPANS: ClassVar = {
        ("g", "history"): (1, 100),
        ("g", "tail"): (101, 120),
        ("h", "history"): (1, 5),
    }

    @pytest.fixture
    def folder(self, tmp_path):
        for i, ((group, lane), (first, last)) in enumerate(self.SPANS.items(), start=1):
            good = Tape(group, lane)
            good.read(first, last, "n1")
            (tmp_path / f"{i}-{lane}-{i}-abc.gz").write_bytes(good.dump())
        return tmp_path

    def prove(self, folder, spans=None):
        snapshots = [
            Snapshot(i, group, lane, i) for i, (group, lane) in enumerate(self.SPANS, start=1)
        ]
        return prove(folder, snapshots, spans or self.SPANS)

    def test_nothing_done(self, folder):
        proof = self.prove(folder)
        assert proof.holds
        assert (proof.lanes, proof.articles, proof.seams) == (3, 125, 0)
        assert proof.by_worker == {"n1": 125}

    @pytest.mark.parametrize(
        "change",
        [
            lambda t: t.runs.pop(),
            lambda t: t.read(5, 5, "n1"),
            lambda t: t.read(121, 121, "n1"),
            lambda t: setattr(t.runs[0], "first", 102),
            lambda t: setattr(t.runs[0], "last", 119),
            lambda t: setattr(t, "group", "h"),
            lambda t: setattr(t, "lane", "history"),
        ],
    )
    def test_a_changed_tape(self, folder, change):
        file = folder / "2-tail-2-abc.gz"
        changed = Tape.load(io.BytesIO(file.read_bytes()))
        change(changed)
        file.write_bytes(changed.dump())
        assert not self.prove(folder).holds

    def test_two_runs_in_the_wrong_order(self, folder):
        file = folder / "2-tail-2-abc.gz"
        file.write_bytes(Tape("g", "tail", [Run(111, 120, "n1"), Run(101, 110, "n1")]).dump())
        assert not self.prove(folder).holds

    def test_a_seam_is_counted(self, folder):
        (folder / "1-history-1-abc.gz").write_bytes(tape((41, 100)).dump())
        proof = self.prove(folder)
        assert (proof.holds, proof.seams) == (False, 1)

    def test_a_flipped_byte_a_missing_file_and_one_too_many(self, folder):
        file = folder / "1-history-1-abc.gz"
        whole = file.read_bytes()
        file.write_bytes(whole[:-12] + bytes([whole[-12] ^ 1]) + whole[-11:])
        assert not self.prove(folder).holds
        file.unlink()
        assert not self.prove(folder).holds
        file.write_bytes(whole)
        (folder / "1-history-1-def.gz").write_bytes(whole)
        assert not self.prove(folder).holds

    def test_a_lane_without_a_snapshot_and_one_that_nobody_planned(self, folder):
        assert not self.prove(folder, self.SPANS | {("h", "tail"): (6, 6)}).holds
        assert not self.prove(folder, {k: v for k, v in self.SPANS.items() if k[0] == "g"}).holds


def run_demo_command(*arguments, dsn=None, timeout=100):
    env = {k: v for k, v in os.environ.items() if k != "PYLEASES_DSN"} | {"COLUMNS": "160"}
    if dsn:
        env["PYLEASES_DSN"] = dsn
    return subprocess.run(
        [sys.executable, "-m", "pyleases", "demo", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        timeout=timeout,
    )


@pytest.mark.timeout(150)
def test_the_small_demo_proves_its_result_on_a_given_server(dsn, db, tmp_path):
    """All of it end to end; then one file of it is spoilt, and the same proof has to fail."""
    done = run_demo_command("--keep", tmp_path / "kept", "--ttl", "1", dsn=dsn)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "each read exactly once and in order" in done.stdout
    assert "seams: none" in done.stdout
    assert "killed (SIGKILL)" in done.stdout
    assert "frozen (SIGSTOP) past its ttl" in done.stdout
    assert done.stderr == ""
    assert "\x1b" not in done.stdout  # a pipe: no progress, no colours

    kept = tmp_path / "kept"
    lost = [e for j in kept.glob("*.jsonl") for e in history_of(j) if e["did"] == "lost"]
    assert [(e["refused"], e["accepted"]) for e in lost] == [(8, 0)]
    # The database it made is gone, and the one it was told of is as it was.
    left = db.execute("select datname from pg_database where datname like 'pyleases_demo_%'")
    assert left.fetchall() == []
    assert db.execute("select count(*) as n from leases.groups").fetchone() == {"n": 0}

    spans = spans_of(kept / "lists")
    assert any(lane == "tail" for _, lane in spans)
    snapshots = current_of(kept / "snapshots")
    assert prove(kept / "snapshots", snapshots, spans).holds
    spoilt = next((kept / "snapshots").glob(f"*-history-{snapshots[0].snapshot_id}-*"))
    with spoilt.open("rb") as body:
        changed = Tape.load(body)
    changed.runs[-1].last -= 1
    spoilt.write_bytes(changed.dump())
    assert not prove(kept / "snapshots", snapshots, spans).holds


def current_of(folder: Path) -> list[Snapshot]:
    """The newest snapshot of each lane, by the files' names."""
    newest: dict[tuple[str, str], tuple[int, Snapshot]] = {}
    for path in folder.iterdir():
        group_id, lane, number, _ = path.name.split("-", 3)
        with path.open("rb") as body:
            one = Tape.load(body)
        found = Snapshot(int(group_id), one.group, lane, int(number))
        if newest.get((group_id, lane), (0,))[0] < int(number):
            newest[group_id, lane] = int(number), found
    return sorted((s for _, s in newest.values()), key=lambda s: s.lane)


@pytest.mark.timeout(60)
def test_ctrl_c_leaves_no_process_and_no_database(dsn, db):
    command = [sys.executable, "-m", "pyleases", "demo"]
    process = subprocess.Popen(
        command,
        env=os.environ | {"PYLEASES_DSN": dsn},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    waiting = time.monotonic() + 30
    while not nodes_of_demo(db) and time.monotonic() < waiting:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(30) != 0
    waiting = time.monotonic() + 10  # for Python's own helper process, which goes last
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < waiting:
            os.killpg(process.pid, 0)
            time.sleep(0.1)
    left = db.execute("select datname from pg_database where datname like 'pyleases_demo_%'")
    assert left.fetchall() == []


def nodes_of_demo(db):
    found = db.execute("select datname from pg_database where datname like 'pyleases_demo_%'")
    for row in found.fetchall():
        try:
            with psycopg.connect(
                host=db.info.host, port=db.info.port, user=db.info.user, dbname=row["datname"]
            ) as other:
                return other.execute("select count(*) from leases.nodes").fetchone()[0]
        except psycopg.Error:
            return 0
    return 0


def test_an_empty_list_and_a_full_folder_are_errors(tmp_path):
    (tmp_path / "list").write_bytes(b".\n")
    done = run_demo_command("--active", tmp_path / "list")
    assert (done.returncode, "lists no group" in done.stderr) == (1, True)
    done = run_demo_command("--keep", tmp_path)
    assert (done.returncode, "not empty" in done.stderr) == (2, True)
