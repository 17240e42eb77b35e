"""The model of a lane and the database agree: random walks of the model, played call by call on a real lane.

That the model keeps the promise says something of the project only so far as the model does what the SQL does.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.sql import helpers as h

MODEL = Path(__file__).parents[2] / "model"
RANGES, SIZE = 6, 2
NONE, DROPPED_OR_GONE = 255, 4
SEEDS = range(1, 21)
LANE, GROUP = "history", "lane"

pytestmark = pytest.mark.skipif(
    not (shutil.which("spin") and shutil.which("gcc")), reason="spin and gcc are not here"
)


def walk(seed):
    """Walk through the model at random: each step with where it leaves the lane."""
    with tempfile.TemporaryDirectory() as folder:  # spin leaves its own files where it runs
        done = subprocess.run(
            [
                "spin",
                "-DTRACE",
                f"-DRANGES={RANGES}",
                f"-DSIZE={SIZE}",
                "-T",
                f"-n{seed}",
                "-u20000",
                MODEL / "lane.pml",
            ],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
    steps, said = [], None
    for line in done.stdout.splitlines():
        if re.fullmatch(r"= refused [\d a-z]+ snapshots[\d a-z]*", line):  # the last one may be cut
            steps.append((said, line))
            said = None
        elif re.match(r"[a-z]", line) and "processes" not in line:
            said = line
    return steps


class Lane:
    """A lane of the database, on which the steps of the model are done."""

    def __init__(self, db):
        self.db = db
        self.node = h.node(db)
        self.group = h.group(db, GROUP)
        self.lease = self.refused = None
        self.calls = Counter()
        h.setting(db, ttl="1 millisecond")  # every holder is quiet

    def ranges(self):
        return h.ranges(self.db, self.group)

    def snapshots(self):
        return h.rows(
            self.db,
            "select snapshot_id, status, next_id from leases.snapshots"
            " where group_id = %s and status in ('kept', 'pending') order by snapshot_id",
            self.group,
        )

    def snapshot(self, number, status):
        """Give the id of the n-th that is kept or pending, else of one that is neither any more."""
        if number < DROPPED_OR_GONE:
            return self.snapshots()[number - 1]["snapshot_id"]
        return h.value(
            self.db,
            "select max(snapshot_id) from leases.snapshots where group_id = %s and status = %s",
            *(self.group, status),
        )

    def step(self, said):
        """Do what the model did."""
        self.refused = None
        match = re.fullmatch(
            r"(?:holder \(window (\d+), reads (\d+), loaded (\d+), writes (\d+)\): )?(.*?)(, answer lost)?",
            said,
        )
        at = [int(n) for n in match.groups()[:4] if n]
        name = match[5].replace(" ", "_")
        self.calls[name] += 1
        with h.allowing("LS001", "LS002", "LS003", "22023") as refused:
            getattr(self, name)(*at)
        self.refused = refused[0].sqlstate if refused else None

    def id_of(self, number):
        return next(r["range_id"] for r in self.ranges() if r["start_id"] == number * SIZE)

    def plan_ranges(self):
        start = len(self.ranges()) * SIZE
        h.plan(self.db, self.group, start, start + SIZE - 1, size=SIZE)

    def lease_group(self):
        time.sleep(0.002)
        self.lease = h.lease(self.db, self.node)

    def reads_an_article(self, *_):
        pass

    is_killed = finds_its_file_unusable = reads_an_article

    def next_range(self, *_):
        h.next_range(self.db, self.lease)

    def heartbeat(self, window, *_):
        h.beat(self.db, self.lease, window)

    def finish_range(self, _window, reads, *_):
        h.finish(self.db, self.lease, self.id_of(reads))

    def finish_and_next(self, _window, reads, *_):
        h.finish_and_next(self.db, self.lease, self.id_of(reads))

    def heartbeat_and_fail_range(self, window, reads, *_):
        h.beat(self.db, self.lease, window)
        h.fail(self.db, self.lease, self.id_of(reads))

    def fail_range(self, window, *_):
        number = window // SIZE
        planned = number < len(self.ranges())
        h.fail(self.db, self.lease, self.id_of(number) if planned else 0)

    def begin_snapshot(self, window, *_):
        h.begin(self.db, self.lease, window)

    def commit_snapshot(self, _window, _reads, _loaded, writes):
        h.commit(self.db, self.lease, self.snapshot(writes, "aborted"))

    def reject_snapshot(self, _window, _reads, loaded, _writes):
        h.reject(self.db, self.lease, self.snapshot(loaded, "stale"))

    def end_lease(self):
        h.end_lease(self.db, self.lease)

    def discard_snapshot(self):
        h.discard(self.db, self.group)

    def state(self):
        """Say where the lane stands, as the model does."""
        status = h.rows(
            self.db,
            "select lease_id, range_id from leases.group_status where group_id = %s and lane = %s",
            self.group,
            LANE,
        )
        held = status[0] if status else {"lease_id": None, "range_id": None}
        ranges = self.ranges()
        hand = next((n for n, r in enumerate(ranges) if r["range_id"] == held["range_id"]), NONE)
        words = [
            "= refused",
            int(self.refused is not None),
            *(
                "planned",
                len(ranges),
                "leased",
                int(held["lease_id"] is not None),
                "hand",
                hand,
                "ranges",
            ),
            *(r["next_id"] for r in ranges),
            "snapshots",
            *(w for s in self.snapshots() for w in (s["status"], s["next_id"])),
        ]
        return " ".join(map(str, words))


def play(lane, steps):
    """Do each step, and see that the database stands where the model does."""
    done = []
    for said, expected in steps:
        if said is None or (done and said == "lease_group" and done[-2:] == [said, said]):
            continue  # the planner idles, or nothing is left to lease
        done.append(said)
        lane.step(said)
        assert lane.state() == expected, "\n".join(
            [*done, f"lane: {lane.state()}", f"model: {expected}"]
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_database_does_what_the_model_does(db, seed):
    lane = Lane(db)
    play(lane, walk(seed))
    assert lane.calls.total() > 20


def test_walks_come_everywhere():
    """All kinds of calls are played, and refusals too."""
    said = Counter(
        re.sub(r"^holder \(.*?\): |, answer lost$", "", s) for n in SEEDS for s, _ in walk(n) if s
    )
    assert set(said) == {
        *(
            "plan_ranges",
            "lease_group",
            "next_range",
            "heartbeat",
            "finish_range",
            "finish_and_next",
        ),
        *("heartbeat and fail_range", "fail_range", "begin_snapshot", "commit_snapshot"),
        *("reject_snapshot", "discard_snapshot", "end_lease", "is killed", "reads an article"),
        "finds its file unusable",
    }
    assert min(said.values()) > 3, said


def test_a_rule_broken_is_shown_with_its_sequence():
    done = subprocess.run(
        [sys.executable, MODEL / "check.py", "--show", "NO_STANDING_POINT_IN_HAND"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.rstrip().endswith("broken: S")
    assert "commit_snapshot" in done.stdout


def test_every_rule_that_is_broken_is_in_the_docs():
    page = (MODEL.parent / "docs" / "model.md").read_text("utf-8")
    text = (MODEL / "breaks.h").read_text("utf-8")
    names = re.findall(
        r"^#define ([A-Z_]+) +[1-9][0-9]* +/\*", text.split("#ifndef REACH")[0], re.M
    )
    assert len(names) > 20
    assert [n for n in names if f"`{n}`" not in page] == []


def test_a_machine_without_spin_is_told_what_to_install():
    done = subprocess.run(
        [sys.executable, MODEL / "check.py"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/nowhere"},
    )
    assert done.returncode == 2
    assert "apt-get install spin" in done.stderr
