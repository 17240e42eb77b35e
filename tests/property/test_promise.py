"""The promise, with tapes: whatever happens, each article is in the windows exactly once.

A machine plays workers, planners and administrators on two groups of two lanes. A window is a tape:
the list of the article numbers that were read. Beside the database runs a plain model of the rules
N, F, R, S and P; after each call what `range_status` and `group_status` say is held against it. At
the end the lanes are drained and the tapes are counted.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
import pytest
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

LANES = ("tail", "history")
PRIORITIES = {"tail": (0, 5, 10), "history": (11, 20, 100)}
FATES = st.sampled_from(["fine", "fine", "answer lost", "answer lost, then a beat", "rolled back"])
PICK = st.integers(0, 7)
_example = itertools.count(1)


def home(priority: int) -> str:
    """Return the lane whose band has that priority."""
    return "tail" if priority <= 10 else "history"


@dataclass(eq=False)
class Range:
    """What the model knows of a range."""

    range_id: int
    group: int
    start: int
    end: int
    next: int
    priority: int
    status: str = "planned"  # planned, leased, done, parked
    attempts: set[int] = field(
        default_factory=lambda: {0}
    )  # a set where the contract leaves it open
    headers: tuple[int, int] = (0, 0)  # at least, at most
    owner: str | None = None  # the lane that handed it out last
    stamp: int = 0  # that lane's counter then

    @property
    def lane(self) -> str:
        """N4: a begun or done range is in the lane that handed it out."""
        begun = self.status in ("leased", "done") or self.next > self.start
        return self.owner if begun and self.owner else home(self.priority)

    @property
    def left(self) -> range:
        """The articles still to read."""
        return range(self.next, self.end + 1) if self.status != "done" else range(0)


@dataclass(eq=False)
class Snapshot:
    snapshot_id: int
    next: int
    counter: int
    standing: dict[int, int]
    tape: list[int]


@dataclass(eq=False)
class Worker:
    """A worker's own memory of one lease."""

    lease_id: int
    node: int
    lane: Lane
    tape: list[int]
    hand: Range | None = None
    at: int = 0  # the next article that it will read
    finished: list[Range] = field(default_factory=list)
    failed: tuple[Range, int] | None = None  # and its stamp then
    aborted: list[int] = field(default_factory=list)
    known: bool = True  # false: the answer of lease_group was lost


@dataclass(eq=False)
class Lane:
    """The model of one lane of one group."""

    group: int
    name: str
    ranges: dict[int, Range]  # those of the whole group
    counter: int = 0
    holder: Worker | None = None
    quiet: bool = False
    in_hand: Range | None = None
    kept: list[Snapshot] = field(default_factory=list)
    pending: Snapshot | None = None
    # what the tape must come to: in order since the last seam; and what went with lost windows
    expected: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)

    @property
    def current(self) -> Snapshot | None:
        return self.kept[-1] if self.kept else None

    def offered(self) -> list[Range]:
        """C1, lowest first."""
        mine = (r for r in self.ranges.values() if r.lane == self.name and r.status == "planned")
        return sorted((r for r in mine if r.next <= r.end), key=lambda r: r.start)

    def would_offer(self, max_attempts: int | None) -> bool:
        """C2: whether it would have an offered range, settled."""
        if self.holder is None:
            return bool(self.offered())
        copy = Lane(self.group, self.name, {})
        copy.ranges.update((k, Range(**vars(r))) for k, r in self.ranges.items())
        copy.kept = self.kept
        copy.in_hand = self.in_hand and copy.ranges[self.in_hand.range_id]
        copy.settle(max_attempts)
        return bool(copy.offered())

    def settle(self, max_attempts: int | None = None) -> None:
        """Rules S, F4. `max_attempts` is given when a quiet holder or an ended lease is settled."""
        hand, self.in_hand = self.in_hand, None
        points: dict[int, int] = {}
        if self.current:
            for r in self.ranges.values():
                if r.owner == self.name and (
                    r.stamp > self.current.counter or r.range_id in self.current.standing
                ):
                    points[r.range_id] = self.current.standing.get(r.range_id, r.start)
        elif hand:
            points[hand.range_id] = hand.next
        for range_id, point in points.items():
            r = self.ranges[range_id]
            r.next = point
            if r.status == "done" and point > r.end:
                r.headers = (0, r.headers[1])
                r.attempts = {0} | r.attempts
            elif r.status == "done":
                r.status, r.headers, r.attempts = "planned", (0, 0), {0} | r.attempts
            elif r.status != "parked":
                r.status = "planned"
            if point > r.end:
                r.status, r.attempts = "done", set(range(max(r.attempts) + 1))
        if hand and hand.status == "leased":
            hand.status = "planned"
        if hand and hand.status == "planned" and max_attempts is not None:
            (attempts,) = hand.attempts
            if attempts >= max_attempts:
                hand.status = "parked"
        self.pending = None


def guarded(step):
    """Mark the machine as broken when a step fails, so that the end is not played on top of it."""

    @functools.wraps(step)
    def guard(self, *args, **kwargs):
        try:
            return step(self, *args, **kwargs)
        except BaseException:
            self.broken = True
            raise

    return guard


def live_one(machine: Promise) -> bool:
    """Somebody holds a lane."""
    return bool(machine.live())


def reading(machine: Promise) -> bool:
    """Somebody has a range in hand."""
    return any(w.hand for w in machine.live())


def streaming(machine: Promise) -> bool:
    """Somebody has begun a snapshot."""
    return any(w.lane.pending for w in machine.live())


class Promise(RuleBasedStateMachine):
    """Workers, planners and administrators, and the model."""

    conn: psycopg.Connection
    in_order: bool
    grants: Counter[str]  # all of this test's, a lane

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.nodes: list[int] = []
        self.lanes: dict[tuple[int, str], Lane] = {}
        self.workers: list[Worker] = []
        self.snapshots: dict[int, Snapshot] = {}
        self.stale: set[int] = set()
        self.max_attempts: int | None = None
        self.rules_version = 0

    # calls -----------------------------------------------------------------------------------

    def sql(self, query: str, args: list | dict | None = None) -> list[dict]:
        cursor = self.conn.execute(query, args)
        return cursor.fetchall() if cursor.description else []

    def once(self, function: str, **args):
        note(f"{function}({', '.join(f'{k} => {v!r}' for k, v in args.items())})")
        named = ", ".join(f"{name} => %({name})s" for name in args)
        rows = self.sql(f"select * from leases.{function}({named})", args)
        note(f"    -> {rows}")
        return rows

    def call(self, function: str, fate: str = "fine", **args):
        """Call a function; where its answer is lost, again; where the server crashed, before."""
        if fate == "rolled back":
            note("-- rolled back:")
            with self.conn.transaction(force_rollback=True):
                self.once(function, **args)
        elif fate.startswith("answer lost"):
            note("-- the answer is lost:")
            self.once(function, **args)
            if "beat" in fate:
                self.once("heartbeat", lease_id=args["lease_id"])
        return self.once(function, **args)

    @contextmanager
    def refused(self, sqlstate: str, group: int):
        """Expect that SQLSTATE, and that nothing changed."""
        before = self.everything(group)
        with pytest.raises(psycopg.Error) as refusal:
            yield
        note(f"    -> {refusal.value!r}")
        assert refusal.value.sqlstate == sqlstate, refusal.value
        assert self.everything(group) == before

    @contextmanager
    def unmoved(self, worker: Worker):
        """Expect that nothing changes but that the holder is heard."""
        before = self.everything(worker.lane.group, ("heard_at", "quiet", "node_seen_at"))
        yield
        self.heard(worker)
        after = self.everything(worker.lane.group, ("heard_at", "quiet", "node_seen_at"))
        assert after == before

    def everything(self, group: int, without: tuple[str, ...] = ()) -> list:
        seen = self.sql(
            "select * from leases.range_status where group_id = %s order by range_id", [group]
        ) + self.sql("select * from leases.group_status where group_id = %s order by lane", [group])
        return [{k: v for k, v in row.items() if k not in without} for row in seen]

    # the model held against the views ------------------------------------------------------------

    def check(self, group: int) -> None:
        ranges = self.lanes[group, "tail"].ranges
        seen = self.sql(
            "select range_id, lane, start_id, end_id, next_id, priority, status, attempts"
            " from leases.range_status where group_id = %s",
            [group],
        )
        assert sorted(row["range_id"] for row in seen) == sorted(ranges)
        for row in seen:
            r = ranges[row["range_id"]]
            assert row["attempts"] in r.attempts, (row, r)
            r.attempts = {row["attempts"]}
            has = (row["start_id"], row["end_id"], row["next_id"], row["status"], row["lane"])
            assert has == (r.start, r.end, r.next, r.status, r.lane), (row, r)
            assert row["priority"] == r.priority, (row, r)
        rows = {
            row["lane"]: row
            for row in self.sql("select * from leases.group_status where group_id = %s", [group])
        }
        for name in LANES:
            lane, row = self.lanes[group, name], rows.get(name)
            mine = [r for r in ranges.values() if r.lane == name]
            if row is None:
                assert not mine, f"no row of {name} in group_status"
                assert lane.holder is None
                continue
            self.check_lane(lane, row, mine)

    def check_lane(self, lane: Lane, row: dict, mine: list[Range]) -> None:
        done = [r for r in mine if r.status == "done"]
        assert row["lease_id"] == (lane.holder and lane.holder.lease_id), row
        assert row["range_id"] == (lane.in_hand and lane.in_hand.range_id), row
        assert bool(row["quiet"]) == (lane.holder is not None and lane.quiet), row
        assert row["snapshot_id"] == (lane.current and lane.current.snapshot_id), row
        assert row["snapshot_next"] == (lane.current and lane.current.next), row
        assert row["ranges_done"] == len(done), (row, mine)
        least, most = sum(r.headers[0] for r in done), sum(r.headers[1] for r in done)
        assert least <= row["headers"] <= most, (row, mine)
        assert row["ranges_parked"] == sum(r.status == "parked" for r in mine), (row, mine)
        if not lane.quiet:
            offered = lane.offered()
            assert row["ranges_offered"] == len(offered), (row, mine)
            assert row["articles_offered"] == sum(len(r.left) for r in offered), (row, mine)

    # picking -------------------------------------------------------------------------------------

    def live(self) -> list[Worker]:
        return [w for w in self.workers if w.known and w.lane.holder is w]

    def pick(self, number: int, *, zombie: bool = False) -> Worker:
        live = self.live()
        among = [w for w in self.workers if w.lane.holder is not w] if zombie else live
        return among[-1 - number % len(among)]

    # the lanes' life -----------------------------------------------------------------------------

    def window(self, lane: Lane) -> list[int]:
        """Return the tape of whoever holds the lane, else of its snapshot."""
        if lane.holder:
            return lane.holder.tape
        return lane.current.tape if lane.current else []

    def settle(self, lane: Lane, *, quiet: bool = False) -> None:
        window = self.window(lane)
        if lane.pending:
            self.stale.add(lane.pending.snapshot_id)
        lane.settle(self.max_attempts if quiet else None)
        if lane.current is None:
            self.seam(lane, window)

    def seam(self, lane: Lane, window: list[int]) -> None:
        """Keep the books where a window is lost and nothing is there to return to."""
        left = {a for r in lane.ranges.values() for a in r.left}
        lane.lost += [article for article in window if article not in left]
        if self.in_order:
            mine = sorted((r for r in lane.ranges.values() if r.lane == lane.name), key=_start)
            remaining = [article for r in mine for article in r.left]
            gone = len(lane.expected) - len(remaining)
            assert lane.expected[gone:] == remaining
            assert gone <= len(window), "passed over articles that no window had"
            lane.expected = remaining

    def end(self, lane: Lane, *, quiet: bool = False) -> None:
        """End the lease of a lane: settled, and held by nobody."""
        self.settle(lane, quiet=quiet)
        lane.holder, lane.quiet = None, False

    def fall_back(self, lane: Lane) -> None:
        """P6: the current snapshot is unusable."""
        window = self.window(lane)
        self.stale.add(lane.kept.pop().snapshot_id)
        if lane.pending:
            self.stale.add(lane.pending.snapshot_id)
            if lane.holder:
                lane.holder.aborted.append(lane.pending.snapshot_id)
        lane.settle()
        if lane.current is None:
            self.seam(lane, window)

    def heard(self, worker: Worker) -> None:
        worker.lane.quiet = False

    def plan_at(self, group: int, start: int, end: int, priority: int, size: int) -> None:
        lanes = [self.lanes[group, name] for name in LANES]
        ranges = lanes[0].ranges
        taken = {a for r in ranges.values() for a in range(r.start, r.end + 1)}
        wanted = [a for a in range(start, end + 1) if a not in taken]
        args = {"group_id": group, "start_id": start, "end_id": end, "priority": priority}
        (row,) = self.once("plan_ranges", **args, size=size)
        assert row["plan_ranges"] == len(wanted)
        (row,) = self.once("plan_ranges", **args, size=size)
        assert row["plan_ranges"] == 0
        got: list[int] = []
        for new in self.sql(
            "select range_id, start_id, end_id, next_id from leases.range_status"
            " where group_id = %s and range_id <> all(%s) order by start_id",
            [group, list(ranges)],
        ):
            r = Range(
                new["range_id"], group, new["start_id"], new["end_id"], new["next_id"], priority
            )
            assert r.end - r.start < size
            got += r.left
            ranges[r.range_id] = r
        assert got == wanted
        if self.in_order:
            self.lanes[group, home(priority)].expected += wanted
        self.check(group)

    # steps ---------------------------------------------------------------------------------------

    @initialize(
        keep=st.integers(1, 3),
        attempts=st.sampled_from([None, 1, 2, 3]),
        isolation=st.sampled_from(["read committed", "repeatable read", "serializable"]),
    )
    @guarded
    def start(self, keep: int, attempts: int | None, isolation: str) -> None:
        example = next(_example)
        self.max_attempts = None if self.in_order else attempts
        self.sql("select set_config('default_transaction_isolation', %s, false)", [isolation])
        self.sql(
            "update leases.lanes set keep_snapshots = %s, max_attempts = %s",
            [keep, self.max_attempts],
        )
        self.keep = keep
        for n in range(3):
            (row,) = self.once("register_node", name=f"n{n}")
            self.nodes.append(row["register_node"])
        for n in range(2):
            (row,) = self.once("add_group", name=f"{type(self).__name__}.{example}.{n}")
            ranges: dict[int, Range] = {}
            for name in LANES:
                self.lanes[row["add_group"], name] = Lane(row["add_group"], name, ranges)
        self.groups = sorted({group for group, _ in self.lanes})
        self.high = {(g, n): -1 if n == "history" else 999 for g in self.groups for n in LANES}
        for group in self.groups:
            self.plan(group=self.groups.index(group), lane="history", gap=0, articles=8, size=4)

    @rule(
        group=st.integers(0, 1),
        lane=st.sampled_from(LANES),
        gap=st.integers(0, 2),
        articles=st.integers(1, 12),
        size=st.integers(1, 6),
        which=st.integers(0, 2),
    )
    @guarded
    def plan(
        self, group: int, lane: str, gap: int, articles: int, size: int, which: int = 0
    ) -> None:
        """Plan above what is planned already."""
        group = self.groups[group]
        start = self.high[group, lane] + 1 + gap
        end = self.high[group, lane] = start + articles - 1
        self.plan_at(group, start, end, PRIORITIES[lane][which], size)

    @rule(node=st.integers(0, 2), lane=st.sampled_from(LANES), fate=FATES)
    @guarded
    def lease(self, node: int, lane: str, fate: str) -> None:
        self.granted(node, lane, fate)

    def granted(self, node: int, lane: str, fate: str = "fine") -> Worker | None:
        """C: any candidate will do here."""
        lanes = [v for v in self.lanes.values() if v.name == lane]
        free = [v for v in lanes if v.holder is None or v.quiet]
        candidates = {v.group: v for v in free if v.would_offer(self.max_attempts)}
        args = {"node_id": self.nodes[node], "lane": lane}
        if fate == "rolled back":
            with self.conn.transaction(force_rollback=True):
                self.once("lease_group", **args)
            for group in self.groups:
                self.check(group)
            return None
        rows = self.once("lease_group", **args)
        worker = None
        if not rows:
            assert not candidates, "a candidate was not granted"
        else:
            (row,) = rows
            self.grants[lane] += 1
            assert row["group_id"] in candidates, "granted what is no candidate"
            held = candidates[row["group_id"]]
            before = max((w.lease_id for w in self.workers if w.lane is held), default=-1)
            assert row["lease_id"] > before
            self.end(held, quiet=True) if held.holder else self.settle(held)
            has = held.current
            assert row["snapshot_id"] == (has and has.snapshot_id)
            assert row["snapshot_next"] == (has and has.next)
            worker = Worker(row["lease_id"], node, held, list(has.tape) if has else [])
            worker.known = not fate.startswith("answer lost")
            held.holder, held.quiet = worker, False
            self.workers.append(worker)
        for other in free:  # C8
            if other.holder and other.quiet:
                (row,) = self.sql(
                    "select lease_id from leases.group_status where group_id = %s and lane = %s",
                    [other.group, other.name],
                )
                if row["lease_id"] is None:
                    assert not other.would_offer(self.max_attempts)
                    self.end(other, quiet=True)
        for group in self.groups:
            self.check(group)
        return worker if worker and worker.known else None

    @precondition(live_one)
    @rule(pick=PICK, fate=FATES)
    @guarded
    def next_range(self, pick: int, fate: str) -> None:
        worker = self.pick(pick)
        rows = self.call("next_range", fate, lease_id=worker.lease_id)
        self.handed(worker, rows)
        self.check(worker.lane.group)

    def handed(self, worker: Worker, rows: list[dict]) -> None:
        """N1 to N3."""
        lane = worker.lane
        self.heard(worker)
        if lane.in_hand is None and (offered := lane.offered()):
            r = lane.in_hand = offered[0]
            lane.counter += 1
            r.status, r.owner, r.stamp = "leased", lane.name, lane.counter
            r.attempts = {n + 1 for n in r.attempts}
        if lane.in_hand is None:
            assert rows == []
            return
        (row,), r = rows, lane.in_hand
        assert (row["range_id"], row["start_id"], row["end_id"]) == (r.range_id, r.start, r.end)
        assert (row["next_id"], row["priority"]) == (r.next, r.priority)
        assert {row["attempts"]} == r.attempts
        if worker.hand is None:
            worker.hand, worker.at = r, row["next_id"]
        assert worker.hand is r

    def read(self, worker: Worker, articles: int) -> None:
        r = worker.hand
        while articles and worker.at <= r.end:
            worker.tape.append(worker.at)
            worker.at += 1
            articles -= 1
        if self.in_order:
            assert worker.tape == worker.lane.expected[: len(worker.tape)]

    @precondition(reading)
    @rule(pick=PICK, articles=st.integers(0, 6), tell=st.booleans(), fate=FATES)
    @guarded
    def go_on(self, pick: int, articles: int, tell: bool, fate: str) -> None:
        """Read a part of the range in hand, and perhaps tell how far it is."""
        worker = self.reader(pick)
        self.read(worker, articles)
        if tell:
            self.call("heartbeat", fate, lease_id=worker.lease_id, next_id=worker.at)
            self.heard(worker)
            worker.hand.next = worker.at
            self.check(worker.lane.group)

    def reader(self, pick: int) -> Worker:
        among = [w for w in self.live() if w.hand]
        return among[-1 - pick % len(among)]

    @precondition(reading)
    @rule(pick=PICK, headers=st.integers(0, 9), and_next=st.booleans(), fate=FATES)
    @guarded
    def finish(self, pick: int, headers: int, and_next: bool, fate: str) -> None:
        worker = self.reader(pick)
        lane, r = worker.lane, worker.hand
        self.read(worker, r.end + 1)
        function = "finish_and_next" if and_next else "finish_range"
        rows = self.call(
            function, fate, lease_id=worker.lease_id, range_id=r.range_id, headers=headers
        )
        self.heard(worker)
        lane.counter += 1
        r.status, r.next, r.headers = "done", r.end + 1, (headers, headers)
        lane.in_hand = worker.hand = None
        worker.finished.append(r)
        if and_next:
            self.handed(worker, rows)
        self.check(lane.group)

    @precondition(live_one)
    @rule(pick=PICK, ranges=st.integers(1, 4))
    @guarded
    def work(self, pick: int, ranges: int) -> None:
        """Finish some ranges in a row."""
        worker = self.pick(pick)
        for _ in range(ranges):
            if worker.hand is None:
                self.handed(worker, self.once("next_range", lease_id=worker.lease_id))
            if worker.hand is None:
                break
            self.finish(self.reader_number(worker), worker.at % 4, True, "fine")
        self.check(worker.lane.group)

    def reader_number(self, worker: Worker) -> int:
        among = [w for w in self.live() if w.hand]
        return len(among) - 1 - among.index(worker)

    @precondition(reading)
    @rule(pick=PICK, fate=FATES, then_snapshot=st.booleans())
    @guarded
    def fail(self, pick: int, fate: str, then_snapshot: bool) -> None:
        """F4, as it is meant: first tell where the window stands."""
        worker = self.reader(pick)
        lane, r = worker.lane, worker.hand
        if worker.at > r.next:
            self.once("heartbeat", lease_id=worker.lease_id, next_id=worker.at)
            r.next = worker.at
        self.call(
            "fail_range", fate, lease_id=worker.lease_id, range_id=r.range_id, reason="no route"
        )
        self.heard(worker)
        (attempts,) = r.attempts
        if r.next > r.end:
            r.status, r.headers = "done", (0, 0)
            lane.counter += 1
        elif self.max_attempts is not None and attempts >= self.max_attempts:
            r.status = "parked"
        else:
            r.status = "planned"
        lane.in_hand = worker.hand = None
        worker.failed = (r, r.stamp)
        self.check(lane.group)
        if then_snapshot:
            self.snapshot(self.live_number(worker))

    def standing(self, worker: Worker) -> int:
        """Where the window of a worker stands."""
        lane = worker.lane
        if worker.hand:
            return worker.at
        mine = [r for r in lane.ranges.values() if r.lane == lane.name]
        wanted = [worker.tape[-1] + 1] if worker.tape else []
        for n in (*wanted, 0):
            if not any(r.start < n <= r.end and n != r.next for r in mine):
                return n
        return max(r.end for r in mine) + 1

    @precondition(live_one)
    @rule(pick=PICK, fate=FATES)
    @guarded
    def begin_snapshot(self, pick: int, fate: str) -> None:
        worker = self.pick(pick)
        lane, at = worker.lane, self.standing(worker)
        if lane.pending:
            self.abort_pending(worker)
        times = 2 if fate.startswith("answer lost") else 1
        if fate == "rolled back":
            with self.conn.transaction(force_rollback=True):
                self.once("begin_snapshot", lease_id=worker.lease_id, next_id=at)
        for _ in range(times):
            if lane.pending:
                self.abort_pending(worker)
            (row,) = self.once("begin_snapshot", lease_id=worker.lease_id, next_id=at)
            assert row["snapshot_id"] not in self.snapshots
            self.heard(worker)
            if worker.hand:
                worker.hand.next = at
            standing = {
                r.range_id: r.next
                for r in lane.ranges.values()
                if r.lane == lane.name and r.status in ("planned", "parked") and r.next > r.start
            }
            if worker.hand:
                standing[worker.hand.range_id] = at
            lane.pending = Snapshot(
                row["snapshot_id"], at, lane.counter, standing, list(worker.tape)
            )
            self.snapshots[row["snapshot_id"]] = lane.pending
        self.check(lane.group)

    def abort_pending(self, worker: Worker) -> None:
        worker.aborted.append(worker.lane.pending.snapshot_id)
        self.stale.add(worker.lane.pending.snapshot_id)
        worker.lane.pending = None

    @precondition(streaming)
    @rule(pick=PICK, fate=FATES)
    @guarded
    def commit_snapshot(self, pick: int, fate: str) -> None:
        among = [w for w in self.live() if w.lane.pending]
        worker = among[-1 - pick % len(among)]
        lane = worker.lane
        taken = lane.pending
        self.commit(worker, taken, fate)
        self.heard(worker)
        lane.pending = None
        lane.kept.append(taken)
        while len(lane.kept) > self.keep:
            self.stale.add(lane.kept.pop(0).snapshot_id)
        (row,) = self.once("current_snapshot", lease_id=worker.lease_id)
        assert (row["snapshot_id"], row["next_id"]) == (taken.snapshot_id, taken.next)
        self.check(lane.group)

    def commit(self, worker: Worker, taken: Snapshot, fate: str = "fine") -> None:
        self.call(
            "commit_snapshot",
            fate,
            lease_id=worker.lease_id,
            snapshot_id=taken.snapshot_id,
            bytes=8 * len(taken.tape),
            checksum=f"xxh3_128:{len(taken.tape):032x}",
        )

    @precondition(live_one)
    @rule(pick=PICK)
    @guarded
    def snapshot(self, pick: int) -> None:
        """Begin and commit."""
        worker = self.pick(pick)
        self.begin_snapshot(pick, "fine")
        among = [w for w in self.live() if w.lane.pending]
        self.commit_snapshot(len(among) - 1 - among.index(worker), "fine")

    @precondition(streaming)
    @rule(pick=PICK)
    @guarded
    def abort_snapshot(self, pick: int) -> None:
        among = [w for w in self.live() if w.lane.pending]
        worker = among[-1 - pick % len(among)]
        self.once(
            "abort_snapshot",
            lease_id=worker.lease_id,
            snapshot_id=worker.lane.pending.snapshot_id,
        )
        self.abort_pending(worker)
        self.check(worker.lane.group)

    @precondition(lambda self: any(w.lane.kept for w in self.live()))
    @rule(pick=PICK, fate=FATES)
    @guarded
    def reject_snapshot(self, pick: int, fate: str) -> None:
        among = [w for w in self.live() if w.lane.kept]
        worker = among[-1 - pick % len(among)]
        lane = worker.lane
        fate = fate.partition(",")[0]
        rows = self.call(
            "reject_snapshot",
            fate,
            lease_id=worker.lease_id,
            snapshot_id=lane.current.snapshot_id,
        )
        self.fall_back(lane)
        assert [row["snapshot_id"] for row in rows] == [s.snapshot_id for s in lane.kept[-1:]]
        worker.hand = worker.failed = None
        worker.finished = []
        worker.tape = list(lane.current.tape) if lane.current else []
        self.check(lane.group)

    @precondition(lambda self: any(lane.kept for lane in self.lanes.values()))
    @rule(pick=PICK)
    @guarded
    def discard_snapshot(self, pick: int) -> None:
        among = [lane for lane in self.lanes.values() if lane.kept]
        lane = among[pick % len(among)]
        self.once("discard_snapshot", group_id=lane.group, lane=lane.name)
        self.fall_back(lane)
        lane.holder, lane.quiet = None, False
        self.check(lane.group)

    @precondition(live_one)
    @rule(pick=PICK, fate=st.sampled_from(["fine", "rolled back"]))
    @guarded
    def release(self, pick: int, fate: str) -> None:
        worker = self.pick(pick)
        self.call("release_group", fate, lease_id=worker.lease_id)
        self.end(worker.lane)
        self.check(worker.lane.group)

    @precondition(lambda self: any(lane.holder for lane in self.lanes.values()))
    @rule(pick=PICK)
    @guarded
    def end_lease(self, pick: int) -> None:
        among = [lane for lane in self.lanes.values() if lane.holder]
        lane = among[pick % len(among)]
        self.once("end_lease", lease_id=lane.holder.lease_id)
        self.end(lane, quiet=True)
        self.check(lane.group)

    @precondition(lambda self: any(lane.holder and not lane.quiet for lane in self.lanes.values()))
    @rule(pick=PICK, by=st.none() | st.integers(0, 2))
    @guarded
    def go_quiet(self, pick: int, by: int | None) -> None:
        """Let a holder not be heard of; perhaps somebody asks for a group at once."""
        among = [lane for lane in self.lanes.values() if lane.holder and not lane.quiet]
        lane = among[pick % len(among)]
        note(f"-- the holder of lease {lane.holder.lease_id} goes quiet")
        self.sql(
            "update leases.progress as p set heard_at = p.heard_at - interval '1 day'"
            " where (p.group_id, p.lane) = (%(group)s, %(lane)s) and p.seq = ("
            "  select max(q.seq) from leases.progress as q"
            "  where (q.group_id, q.lane) = (%(group)s, %(lane)s))",
            {"group": lane.group, "lane": lane.name},
        )
        self.sql(
            "update leases.choices set heard_at = heard_at - interval '1 day'"
            " where (group_id, lane) = (%s, %s)",
            [lane.group, lane.name],
        )
        self.sql(
            "update leases.grants set granted_at = granted_at - interval '1 day' where lease_id = %s",
            [lane.holder.lease_id],
        )
        lane.quiet = True
        self.check(lane.group)
        if by is not None:
            self.granted(by, lane.name)

    @precondition(lambda self: any(w.lane.holder is not w for w in self.workers))
    @rule(pick=PICK, what=st.integers(0, 9))
    @guarded
    def zombie(self, pick: int, what: int) -> None:
        """H1: one that lost its lease goes on calling."""
        worker = self.pick(pick, zombie=True)
        lease = {"lease_id": worker.lease_id}
        any_range = next(iter(worker.lane.ranges), 0)
        held = {"range_id": worker.hand.range_id if worker.hand else any_range}
        taken = {"snapshot_id": max(self.snapshots, default=1)}
        calls = [
            ("next_range", {}),
            ("heartbeat", {}),
            ("heartbeat", {"next_id": worker.at}),
            ("finish_range", held),
            ("finish_and_next", held),
            ("fail_range", {**held, "reason": "late"}),
            ("release_group", {}),
            ("begin_snapshot", {"next_id": worker.at}),
            ("commit_snapshot", {**taken, "bytes": 1, "checksum": "sha256:00"}),
            ("reject_snapshot", taken),
        ]
        function, args = calls[what]
        with self.refused("LS001", worker.lane.group):
            self.once(function, **lease, **args)

    @precondition(live_one)
    @rule(pick=PICK, what=st.integers(0, 7))
    @guarded
    def mistake(self, pick: int, what: int) -> None:
        """F2, F3, P2, P4: calls that are refused, and calls that do nothing."""
        worker = self.pick(pick)
        lane, group, lease = worker.lane, worker.lane.group, {"lease_id": worker.lease_id}
        others = [
            r for r in lane.ranges.values() if r is not worker.hand and r not in worker.finished
        ]
        if what == 0 and others:
            with self.refused("LS002", group):
                self.once("finish_range", **lease, range_id=others[-1].range_id)
        elif what == 1 and worker.hand:
            with self.refused("22023", group):
                self.once("heartbeat", **lease, next_id=worker.hand.end + 2)
        elif what == 2 and worker.hand and worker.hand.next > 0:
            with self.refused("22023", group):
                self.once("heartbeat", **lease, next_id=worker.hand.next - 1)
        elif what == 3 and not worker.hand and lane.in_hand is None:
            with self.refused("LS002", group):
                self.once("heartbeat", **lease, next_id=worker.at)
        elif what == 4 and worker.hand:
            with self.refused("22023", group):
                self.once("begin_snapshot", **lease, next_id=worker.hand.end + 2)
        elif what == 5 and worker.aborted:
            with self.refused("LS003", group):
                self.once(
                    "commit_snapshot",
                    **lease,
                    snapshot_id=worker.aborted[-1],
                    bytes=1,
                    checksum="sha256:00",
                )
        elif what == 6 and worker.finished:
            with self.unmoved(worker):
                again = worker.finished[-1].range_id
                self.once("finish_range", **lease, range_id=again, headers=99)
        elif what == 7 and worker.failed:
            r, stamp = worker.failed
            if (r.stamp, r.owner) == (stamp, lane.name) and r is not worker.hand:
                with self.unmoved(worker):
                    self.once("fail_range", **lease, range_id=r.range_id, reason="again")

    @rule(node=st.integers(0, 2))
    @guarded
    def restart_worker(self, node: int) -> None:
        """Give back all that a node held."""
        (row,) = self.once("release_node", node_id=self.nodes[node])
        held = [v for v in self.lanes.values() if v.holder and v.holder.node == node]
        assert row["release_node"] == len(held)
        for lane in held:
            self.end(lane)
        for group in self.groups:
            self.check(group)
        assert not self.sql(
            "select from leases.group_status where node_id = %s", [self.nodes[node]]
        )

    @rule(what=st.integers(0, 24), group=st.integers(0, 1))
    @guarded
    def rarely(self, what: int, group: int) -> None:
        """Publish rules, bring the database back from a dump, renumber a log."""
        group = self.groups[group]
        if what in (1, 2):
            self.once("publish_rules", rules='{"n": 1}')
        elif what == 3:
            self.once("after_restore")
            for lane in self.lanes.values():
                if lane.holder:
                    self.end(lane)
        elif what == 4:
            self.once("restart_group", group_id=group)
            for name in LANES:
                lane = self.lanes[group, name]
                lost = [*lane.kept, lane.pending] if lane.pending else lane.kept
                self.stale |= {s.snapshot_id for s in lost}
                lane.ranges.clear()
                lane.holder = lane.in_hand = lane.pending = None
                lane.kept, lane.expected, lane.lost, lane.quiet = [], [], [], False
                self.high[group, name] = -1 if name == "history" else 999
        for one in self.groups:
            self.check(one)

    @rule(forget=st.booleans())
    @guarded
    def sweep(self, forget: bool) -> None:
        """P5: what is listed as stale is what no one needs, and all of it."""
        listed = {row["snapshot_id"] for row in self.once("stale_snapshots")}
        assert listed & set(self.snapshots) == self.stale
        if forget:
            self.once("forget_snapshots", snapshot_ids=list(self.stale))
            self.stale = set()

    # the end -------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Let somebody read all that is left, in one lane after the other."""
        for lane in [v for v in self.lanes.values() if v.holder]:
            self.end_lease([v for v in self.lanes.values() if v.holder].index(lane))
        for name in LANES:
            while worker := self.granted(0, name):
                self.work(self.live_number(worker), 10_000)
                assert not worker.lane.offered()
                self.snapshot(self.live_number(worker))
                self.release(self.live_number(worker), "fine")

    def live_number(self, worker: Worker) -> int:
        live = self.live()
        return len(live) - 1 - live.index(worker)

    @guarded
    def finale(self) -> None:
        """Drain, and count the tapes."""
        self.drain()
        for group in self.groups:
            ranges = self.lanes[group, "tail"].ranges
            while parked := [r for r in ranges.values() if r.status == "parked"]:
                for r in parked:
                    self.retry(r)
                self.drain()
            assert all(r.status == "done" for r in ranges.values())
            planned = [a for r in ranges.values() for a in range(r.start, r.end + 1)]
            assert max(Counter(planned).values(), default=1) == 1
            read: Counter[int] = Counter()
            for name in LANES:
                lane = self.lanes[group, name]
                tape = lane.current.tape if lane.current else []
                read.update(tape)
                read.update(lane.lost)
                if self.in_order:
                    assert tape == lane.expected
            assert read == Counter(planned)
        self.sweep(True)

    def retry(self, r: Range) -> None:
        self.once("retry_range", range_id=r.range_id)
        r.status, r.attempts = "planned", {0}
        self.check(r.group)

    def teardown(self) -> None:
        """Play the end, and leave the lanes empty and at the same turn, so that examples repeat."""
        try:
            if self.lanes and not self.broken:
                self.finale()
        finally:
            self.sql("reset default_transaction_isolation")
            groups = sorted({group for group, _ in self.lanes})
            self.sql(
                "select leases.end_lease(lease_id => lease_id) from leases.group_status"
                " where group_id = any(%s) and lease_id is not null",
                [groups],
            )
            self.sql("delete from leases.ranges where group_id = any(%s)", [groups])
            for lane in LANES:
                if self.grants[lane] % 2:
                    self.sql(
                        "insert into leases.ranges (group_id, start_id, end_id, priority)"
                        " values (%s, 0, 0, %s)",
                        [groups[0], PRIORITIES[lane][0]],
                    )
                    (row,) = self.once("lease_group", node_id=self.nodes[0], lane=lane)
                    self.grants[lane] += 1
                    self.once("end_lease", lease_id=row["lease_id"])
                    self.sql("delete from leases.ranges where group_id = any(%s)", [groups])
            self.sql("update leases.groups set active = false where group_id = any(%s)", [groups])


def _start(r: Range) -> int:
    return r.start


class InOrder(Promise):
    """Ranges planned in rising order, settings that stay: each article once, and in order."""

    in_order = True


class EachOnce(Promise):
    """Also planned below, parked and retried, moved between lanes: each article once."""

    in_order = False

    @rule(
        group=st.integers(0, 1),
        start=st.integers(0, 40),
        articles=st.integers(1, 15),
        size=st.integers(1, 6),
        priority=st.sampled_from([0, 5, 11, 20]),
    )
    @guarded
    def plan_anywhere(
        self, group: int, start: int, articles: int, size: int, priority: int
    ) -> None:
        self.plan_at(self.groups[group], start, start + articles - 1, priority, size)

    def parked(self) -> list[Range]:
        return [
            r
            for group in self.groups
            for r in self.lanes[group, "tail"].ranges.values()
            if r.status == "parked"
        ]

    @precondition(lambda self: self.parked())
    @rule(pick=PICK)
    @guarded
    def retry_range(self, pick: int) -> None:
        parked = self.parked()
        self.retry(parked[pick % len(parked)])

    @rule(
        group=st.integers(0, 1),
        start=st.integers(0, 30),
        articles=st.integers(1, 30),
        priority=st.sampled_from([0, 5, 11, 20]),
    )
    @guarded
    def set_priority(self, group: int, start: int, articles: int, priority: int) -> None:
        group, end = self.groups[group], start + articles - 1
        inside = [
            r
            for r in self.lanes[group, "tail"].ranges.values()
            if start <= r.start and r.end <= end and r.status == "planned" and r.next == r.start
        ]
        (row,) = self.once(
            "set_priority", group_id=group, start_id=start, end_id=end, priority=priority
        )
        assert row["set_priority"] in (len(inside), sum(r.priority != priority for r in inside))
        for r in inside:
            r.priority = priority
        self.check(group)

    @rule(group=st.integers(0, 1), pick=PICK, priority=st.sampled_from([0, 5, 11, 20]))
    @guarded
    def write_priority(self, group: int, pick: int, priority: int) -> None:
        """N4: whatever an administrator writes, a begun range stays in its lane."""
        group = self.groups[group]
        free = [
            r
            for r in self.lanes[group, "tail"].ranges.values()
            if r.status in ("planned", "parked")
        ]
        if free:
            r = sorted(free, key=_start)[pick % len(free)]
            note(f"update leases.ranges set priority = {priority} where range_id = {r.range_id}")
            self.sql(
                "update leases.ranges set priority = %s where range_id = %s", [priority, r.range_id]
            )
            r.priority = priority
            self.check(group)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("machine", "quick"), [(InOrder, 60), (EachOnce, 80)])
def test_promise_each_article_is_in_the_windows_exactly_once(machine, quick, played, effort):
    class Played(machine):
        conn = played

    Played.grants = Counter()
    run_state_machine_as_test(Played, settings=effort(quick))
