"""C1 to C5 and L3: which group a lease takes, against a plain computation from scratch.

A machine plays an administrator's own SQL on ranges, groups and settings, planners, and workers who
lease, read, fail, give back and go quiet. What `lease_group` grants, or would grant, is held each
time against what a few lines of Python make of `range_status` and of the history of grants.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field

import psycopg
import pytest
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

BANDS = {"tail": (None, 10), "history": (11, 999), "mid": (1000, None)}
OPEN = {"offer_from": None, "offer_to": None, "capture_only": False, "yields_to_catalog": False}
PRIORITY = st.sampled_from([11, 11, 11, 11, 5, 5, 0, 10, 15, 20, 100, 1000])
LANE = st.sampled_from(["history", "history", "tail", "mid"])
GROUP = st.integers(0, 2)
PICK = st.integers(0, 11)
_example = itertools.count(1)


@dataclass
class Turns:
    """What is known of a lane's turns: they alternate, and which came first shows in time."""

    grants: int = 0
    first_is_biggest: set[bool] = field(default_factory=lambda: {True, False})

    def biggest(self, first_is_biggest: bool) -> bool:
        """Return whether the next grant takes the biggest."""
        return first_is_biggest == (self.grants % 2 == 0)


@dataclass(eq=False)
class Lease:
    lease_id: int
    group: int
    lane: str
    hand: dict | None = None
    quiet: bool = False


def guarded(step):
    @functools.wraps(step)
    def guard(self, *args, **kwargs):
        try:
            return step(self, *args, **kwargs)
        except BaseException:
            self.broken = True
            raise

    return guard


class Choice(RuleBasedStateMachine):
    conn: psycopg.Connection
    turns: dict[str, Turns]

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.groups: list[int] = []
        self.active: dict[int, bool] = {}
        self.urgency: dict[int, int] = {}
        self.held: dict[tuple[int, str], Lease] = {}
        self.heard: dict[tuple[int, str], int] = {}
        self.clock = itertools.count(1)
        self.bands = dict(BANDS)
        self.settings = {lane: dict(OPEN) for lane in BANDS}
        self.paused: set[str] = set()
        self.full = False
        self.seen: dict[int, dict] = {}

    # calls -----------------------------------------------------------------------------------

    def sql(self, query: str, args: list | dict | None = None) -> list[dict]:
        cursor = self.conn.execute(query, args)
        return cursor.fetchall() if cursor.description else []

    def admin(self, query: str, args: list | dict | None = None) -> list[dict]:
        note(f"{query} -- {args}")
        return self.sql(query, args)

    def once(self, function: str, **args) -> list[dict]:
        note(f"{function}({', '.join(f'{k} => {v!r}' for k, v in args.items())})")
        named = ", ".join(f"{name} => %({name})s" for name in args)
        rows = self.sql(f"select * from leases.{function}({named})", args)
        note(f"    -> {rows}")
        return rows

    def ranges(self) -> list[dict]:
        return self.sql(
            "select * from leases.range_status where group_id = any(%s)"
            " order by group_id, start_id",
            [self.groups],
        )

    def status(self, lane: str) -> dict[int, dict]:
        rows = self.sql(
            "select * from leases.group_status where group_id = any(%s) and lane = %s",
            [self.groups, lane],
        )
        return {row["group_id"]: row for row in rows}

    # from scratch ------------------------------------------------------------------------------

    def home(self, priority: int) -> str | None:
        for lane, (low, high) in self.bands.items():
            if (low is None or priority >= low) and (high is None or priority <= high):
                return lane
        return None

    def offered(self, lane: str, rows: list[dict]) -> list[dict]:
        """C1."""
        s = self.settings[lane]
        return [
            r
            for r in rows
            if r["lane"] == lane
            and r["status"] == "planned"
            and r["next_id"] <= r["end_id"]
            and (s["offer_from"] is None or r["priority"] >= s["offer_from"])
            and (s["offer_to"] is None or r["priority"] <= s["offer_to"])
            and (r["capture"] or not s["capture_only"])
        ]

    def settled(self, lease: Lease) -> list[dict]:
        """Return the ranges as they are once this lease has ended."""
        with self.conn.transaction(force_rollback=True):
            self.sql("select leases.end_lease(lease_id => %s)", [lease.lease_id])
            return self.ranges()

    def candidates(self, lane: str) -> list[dict]:
        """C2."""
        found = []
        now = self.ranges()
        for group in self.groups:
            lease = self.held.get((group, lane))
            if not self.active[group] or (lease and not lease.quiet):
                continue
            rows = self.settled(lease) if lease else now
            offered = [r for r in self.offered(lane, rows) if r["group_id"] == group]
            if offered:
                found.append(
                    {
                        "group": group,
                        "best": min(r["priority"] for r in offered),
                        "articles": sum(r["end_id"] - r["next_id"] + 1 for r in offered),
                        "heard": self.heard.get((group, lane)),
                        "urgency": self.urgency[group],
                        "free": lease is None,
                    }
                )
        return found

    def choices(self, candidates: list[dict], lane: str) -> dict[bool, int | None]:
        """C3, C4: what would be granted, by which order had the lane's first turn ever."""
        if not candidates or not self.is_open(lane):
            return dict.fromkeys(self.turns[lane].first_is_biggest)
        best = min(c["best"] for c in candidates)
        among = [c for c in candidates if c["best"] == best]

        def biggest(c: dict) -> tuple:
            return -c["articles"], c["urgency"], c["group"]

        def longest_unheld(c: dict) -> tuple:
            never = c["heard"] is None
            return not never, 0 if never else c["heard"], c["urgency"], c["group"]

        return {
            first: min(among, key=biggest if self.turns[lane].biggest(first) else longest_unheld)[
                "group"
            ]
            for first in self.turns[lane].first_is_biggest
        }

    def is_open(self, lane: str) -> bool:
        """C5."""
        yields = self.settings[lane]["yields_to_catalog"]
        return lane not in self.paused and not (self.full and yields)

    # the views held against it -----------------------------------------------------------------

    @invariant()
    @guarded
    def figures_are_exact(self) -> None:
        if not self.groups:
            return
        rows = self.ranges()
        self.lanes_are_right(rows)
        for lane in BANDS:
            status = self.status(lane)
            for group in self.groups:
                mine = [r for r in rows if r["group_id"] == group and r["lane"] == lane]
                lease, row = self.held.get((group, lane)), status.get(group)
                if row is None:
                    assert not mine, (lane, mine)
                    assert lease is None
                    continue
                assert row["lease_id"] == (lease and lease.lease_id)
                assert bool(row["quiet"]) == bool(lease and lease.quiet)
                if lease and lease.quiet:
                    continue
                offered = self.offered(lane, mine)
                planned = [r for r in mine if r["status"] == "planned"]
                assert row["ranges_offered"] == len(offered), (row, mine)
                assert row["articles_offered"] == articles(offered), (row, mine)
                assert row["ranges_planned"] == len(planned), (row, mine)
                assert row["articles_planned"] == articles(planned), (row, mine)
                assert row["ranges_parked"] == sum(r["status"] == "parked" for r in mine)
                assert row["ranges_done"] == sum(r["status"] == "done" for r in mine)

    def lanes_are_right(self, rows: list[dict]) -> None:
        """N4: a begun range stays in its lane, another is in its priority's."""
        for r in rows:
            before = self.seen.get(r["range_id"])
            if r["status"] == "done":
                continue
            if not begun(r):
                assert (r["lane"] or None) == self.home(r["priority"]), r
            elif before is not None and before["status"] != "done":
                assert r["lane"] == before["lane"], (r, before)
        self.seen = {r["range_id"]: r for r in rows}

    # workers -------------------------------------------------------------------------------------

    @initialize()
    @guarded
    def start(self) -> None:
        example = next(_example)
        (row,) = self.once("register_node", name="n")
        self.node = row["register_node"]
        for n in range(3):
            (row,) = self.once("add_group", name=f"choice.{example}.{n}")
            self.groups.append(row["add_group"])
            self.active[row["add_group"]], self.urgency[row["add_group"]] = True, 100
        self.plan(group=0, start=0, articles=9, priority=11, capture=False, size=3)
        self.plan(group=1, start=0, articles=4, priority=11, capture=False, size=3)
        self.plan(group=2, start=0, articles=6, priority=11, capture=True, size=3)

    @rule(lane=LANE, keep=st.sampled_from([True, True, False]))
    @guarded
    def lease(self, lane: str, keep: bool) -> None:
        """C4: a grant that is rolled back shows what the next one will be."""
        candidates = self.candidates(lane)
        may = self.choices(candidates, lane)
        args = {"node_id": self.node, "lane": lane}
        with self.conn.transaction(force_rollback=True):
            self.expect(self.once("lease_group", **args), may, lane, candidates)
        self.waiting(lane, candidates)
        if not keep:
            return
        rows = self.once("lease_group", **args)
        self.turns[lane].grants += len(rows)
        may = {k: v for k, v in may.items() if k in self.turns[lane].first_is_biggest}
        self.expect(rows, may, lane, candidates)
        if not rows:
            assert self.once("why_idle", lane=lane)
        for row in rows:
            assert row["lane"] == lane
            assert row["group_priority"] == self.urgency[row["group_id"]]
            key = row["group_id"], lane
            self.held[key] = Lease(row["lease_id"], *key)
            self.hear(self.held[key])
        status = self.status(lane)
        for group in self.groups:  # C8
            held = self.held.get((group, lane))
            if held and held.quiet and status[group]["lease_id"] is None:
                assert group not in [c["group"] for c in candidates]
                del self.held[group, lane]

    @rule(lane=LANE, times=st.integers(1, 4), finish=st.booleans())
    @guarded
    def come_and_go(self, lane: str, times: int, finish: bool) -> None:
        """Lease and give back, several times: the turns alternate."""
        for _ in range(times):
            before = set(self.held)
            self.lease(lane, True)
            for key in set(self.held) - before:
                lease = self.held[key]
                if finish:
                    self.next_range(lease)
                    if lease.hand:
                        args = {"lease_id": lease.lease_id, "range_id": lease.hand["range_id"]}
                        self.once("finish_range", **args)
                self.once("release_group", lease_id=lease.lease_id)
                del self.held[key]

    def expect(
        self, rows: list[dict], may: dict[bool, int | None], lane: str, candidates: list[dict]
    ) -> None:
        granted = rows[0]["group_id"] if rows else None
        turns = self.turns[lane]
        fits = {first for first, group in may.items() if group == granted}
        note(f"-- {lane}: granted {granted}, may be {may}, grants {turns.grants}, {candidates}")
        assert fits, f"granted {granted} and not one of {may}"
        turns.first_is_biggest &= fits

    def waiting(self, lane: str, candidates: list[dict]) -> None:
        (row,) = self.sql("select * from leases.lane_status where lane = %s", [lane])
        assert row["is_open"] == self.is_open(lane), row
        held = [v for v in self.held.values() if v.lane == lane]
        assert row["groups_held"] in (len(held), sum(not v.quiet for v in held)), row
        assert row["groups_quiet"] == sum(v.quiet for v in held), row
        free = sum(c["free"] for c in candidates)
        assert free <= row["groups_waiting"] <= len(candidates), (row, candidates)

    def hear(self, lease: Lease) -> None:
        lease.quiet = False
        self.heard[lease.group, lease.lane] = next(self.clock)

    def pick(self, number: int) -> Lease:
        leases = list(self.held.values())
        return leases[-1 - number % len(leases)]

    @precondition(lambda self: self.held)
    @rule(pick=PICK, ranges=st.integers(1, 3))
    @guarded
    def work(self, pick: int, ranges: int) -> None:
        lease = self.pick(pick)
        for _ in range(ranges):
            self.next_range(lease)
            if lease.hand:
                hand, lease.hand = lease.hand, None
                self.once("finish_range", lease_id=lease.lease_id, range_id=hand["range_id"])

    def next_range(self, lease: Lease) -> None:
        rows = self.ranges()
        offered = [r for r in self.offered(lease.lane, rows) if r["group_id"] == lease.group]
        got = self.once("next_range", lease_id=lease.lease_id)
        self.hear(lease)
        if lease.hand:
            assert [r["range_id"] for r in got] == [lease.hand["range_id"]]
        else:  # N1
            assert [r["range_id"] for r in got] == [r["range_id"] for r in offered[:1]]
            lease.hand = got[0] if got else None

    @precondition(lambda self: self.held)
    @rule(pick=PICK, read=st.integers(0, 4))
    @guarded
    def take(self, pick: int, read: int) -> None:
        """Have a range in hand, and tell how far it is read."""
        lease = self.pick(pick)
        self.next_range(lease)
        if lease.hand:
            at = min(lease.hand["next_id"] + read, lease.hand["end_id"] + 1)
            self.once("heartbeat", lease_id=lease.lease_id, next_id=at)
            lease.hand["next_id"] = at
            self.hear(lease)

    @precondition(lambda self: any(v.hand for v in self.held.values()))
    @rule(pick=PICK)
    @guarded
    def fail(self, pick: int) -> None:
        leases = [v for v in self.held.values() if v.hand]
        lease = leases[pick % len(leases)]
        self.once(
            "fail_range",
            lease_id=lease.lease_id,
            range_id=lease.hand["range_id"],
            reason="no route",
        )
        lease.hand = None
        self.hear(lease)

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    @guarded
    def snapshot(self, pick: int) -> None:
        lease = self.pick(pick)
        at = lease.hand["next_id"] if lease.hand else 0
        (row,) = self.once("begin_snapshot", lease_id=lease.lease_id, next_id=at)
        self.once(
            "commit_snapshot",
            lease_id=lease.lease_id,
            snapshot_id=row["snapshot_id"],
            bytes=1,
            checksum="xxh3_128:00",
        )
        self.hear(lease)

    @precondition(lambda self: self.held)
    @rule(pick=PICK, how=st.sampled_from(["release_group", "end_lease"]))
    @guarded
    def let_go(self, pick: int, how: str) -> None:
        lease = self.pick(pick)
        self.once(how, lease_id=lease.lease_id)
        del self.held[lease.group, lease.lane]

    @precondition(lambda self: self.held)
    @rule(pick=PICK)
    @guarded
    def go_quiet(self, pick: int) -> None:
        lease = self.pick(pick)
        key = {"group": lease.group, "lane": lease.lane}
        note(f"-- the holder of lease {lease.lease_id} goes quiet")
        self.sql(
            "update leases.progress as p set heard_at = p.heard_at - interval '1 day'"
            " where (p.group_id, p.lane) = (%(group)s, %(lane)s) and p.seq = ("
            "  select max(q.seq) from leases.progress as q"
            "  where (q.group_id, q.lane) = (%(group)s, %(lane)s))",
            key,
        )
        self.sql(
            "update leases.choices set heard_at = heard_at - interval '1 day'"
            " where (group_id, lane) = (%(group)s, %(lane)s)",
            key,
        )
        self.sql(
            "update leases.grants set granted_at = granted_at - interval '1 day'"
            " where lease_id = %(lease)s",
            {"lease": lease.lease_id},
        )
        lease.quiet = True
        self.heard[lease.group, lease.lane] -= 1_000_000

    @rule(group=GROUP, lane=LANE)
    @guarded
    def discard_snapshot(self, group: int, lane: str) -> None:
        group = self.groups[group]
        row = self.status(lane).get(group)
        if row and row["snapshot_id"]:
            self.once("discard_snapshot", group_id=group, lane=lane)
            self.held.pop((group, lane), None)

    # planners ----------------------------------------------------------------------------------

    @rule(
        group=GROUP,
        start=st.integers(0, 40),
        articles=st.integers(1, 12),
        priority=PRIORITY,
        capture=st.booleans(),
        size=st.integers(1, 6),
    )
    @guarded
    def plan(
        self, group: int, start: int, articles: int, priority: int, capture: bool, size: int
    ) -> None:
        self.once(
            "plan_ranges",
            group_id=self.groups[group],
            start_id=start,
            end_id=start + articles - 1,
            priority=priority,
            capture=capture,
            size=size,
        )

    @rule(group=GROUP, start=st.integers(0, 30), articles=st.integers(1, 30), priority=PRIORITY)
    @guarded
    def set_priority(self, group: int, start: int, articles: int, priority: int) -> None:
        self.once(
            "set_priority",
            group_id=self.groups[group],
            start_id=start,
            end_id=start + articles - 1,
            priority=priority,
        )

    @rule(group=GROUP, priority=st.integers(98, 102), active=st.sampled_from([True, True, False]))
    @guarded
    def change_group(self, group: int, priority: int, active: bool) -> None:
        group = self.groups[group]
        self.admin(
            "update leases.groups set priority = %s, active = %s where group_id = %s",
            [priority, active, group],
        )
        self.urgency[group], self.active[group] = priority, active

    # an administrator's own SQL ------------------------------------------------------------------

    @rule(
        group=GROUP,
        start=st.integers(0, 40),
        articles=st.integers(1, 9),
        priority=PRIORITY,
        capture=st.booleans(),
        status=st.sampled_from(["planned", "planned", "done", "parked"]),
        read=st.none() | st.integers(0, 3),
    )
    @guarded
    def insert(
        self,
        group: int,
        start: int,
        articles: int,
        priority: int,
        capture: bool,
        status: str,
        read: int | None,
    ) -> None:
        row = {
            "group_id": self.groups[group],
            "start_id": start,
            "end_id": start + articles - 1,
            "priority": priority,
            "capture": capture,
            "status": status,
        }
        if read is not None:
            row["next_id"] = start + min(read, articles - 1)
        overlaps = any(
            r["group_id"] == row["group_id"]
            and r["start_id"] <= row["end_id"]
            and r["end_id"] >= row["start_id"]
            for r in self.ranges()
        )
        try:
            self.admin(
                f"insert into leases.ranges ({', '.join(row)})"
                f" values ({', '.join(f'%({c})s' for c in row)})",
                row,
            )
            refused = None
        except psycopg.Error as error:
            refused = error.sqlstate
        assert refused == ("LS004" if overlaps else None)

    def free_range(self, pick: int) -> dict | None:
        free = [r for r in self.ranges() if r["status"] != "leased"]
        return free[pick % len(free)] if free else None

    def write(self, row: dict, query: str, args: list) -> bool:
        """Write to a range; one that a holder has finished since its snapshot may be refused."""
        try:
            self.admin(query, [*args, row["range_id"]])
        except psycopg.errors.ObjectInUse as error:
            note(f"-- {error!r}")
            if row["status"] != "done" or (row["group_id"], row["lane"]) not in self.held:
                raise
            return False
        return True

    @rule(pick=PICK, column=st.sampled_from(["priority", "capture"]), data=st.data())
    @guarded
    def update(self, pick: int, column: str, data: st.DataObject) -> None:
        row = self.free_range(pick)
        if row:
            value = data.draw(PRIORITY if column == "priority" else st.booleans())
            if self.write(
                row, f"update leases.ranges set {column} = %s where range_id = %s", [value]
            ):
                (now,) = [r for r in self.ranges() if r["range_id"] == row["range_id"]]
                assert {**row, column: value, "lane": now["lane"]} == now

    @rule(pick=PICK, status=st.sampled_from(["planned", "done", "parked"]))
    @guarded
    def update_status(self, pick: int, status: str) -> None:
        row = self.free_range(pick)
        query = "update leases.ranges set status = %s where range_id = %s"
        if row and self.write(row, query, [status]):
            (now,) = [r for r in self.ranges() if r["range_id"] == row["range_id"]]
            assert now["status"] == status
            self.seen.pop(row["range_id"], None)

    @rule(pick=PICK, read=st.integers(0, 4))
    @guarded
    def update_next(self, pick: int, read: int) -> None:
        row = self.free_range(pick)
        if row and row["status"] != "done":
            at = min(row["start_id"] + read, row["end_id"])
            self.write(row, "update leases.ranges set next_id = %s where range_id = %s", [at])
            (now,) = [r for r in self.ranges() if r["range_id"] == row["range_id"]]
            assert now["next_id"] == at

    @rule(pick=PICK)
    @guarded
    def delete(self, pick: int) -> None:
        row = self.free_range(pick)
        if row and self.write(row, "delete from leases.ranges where range_id = %s", []):
            assert row["range_id"] not in [r["range_id"] for r in self.ranges()]

    @rule(
        lane=LANE,
        bounds=st.tuples(*[st.sampled_from([None, None, None, 5, 11, 15])] * 2),
        capture_only=st.sampled_from([False, False, True]),
        yields=st.booleans(),
        max_attempts=st.sampled_from([None, 1, 2]),
    )
    @guarded
    def change_settings(
        self, lane: str, bounds: tuple, capture_only: bool, yields: bool, max_attempts: int | None
    ) -> None:
        low, high = bounds
        if low is not None and high is not None and low > high:
            low, high = high, low
        changed = {
            "offer_from": low,
            "offer_to": high,
            "capture_only": capture_only,
            "yields_to_catalog": yields,
        }
        self.settings[lane] = changed
        self.admin(
            "update leases.lanes set offer_from = %(offer_from)s, offer_to = %(offer_to)s,"
            " capture_only = %(capture_only)s, yields_to_catalog = %(yields_to_catalog)s,"
            " max_attempts = %(max_attempts)s where lane = %(lane)s",
            {**changed, "max_attempts": max_attempts, "lane": lane},
        )

    @rule(
        cut=st.sampled_from([10, 4, 15]),
        gap=st.sampled_from([1, 1, 6]),
        top=st.sampled_from([999, 19, 1000]),
    )
    @guarded
    def change_bands(self, cut: int, gap: int, top: int) -> None:
        """With a gap, some priorities are in no lane."""
        self.set_bands(
            {
                "tail": (None, cut),
                "history": (cut + gap, max(top, cut + gap)),
                "mid": (max(top, cut + gap) + 1, None),
            }
        )

    def set_bands(self, bands: dict) -> None:
        self.admin(
            "update leases.lanes as l set priority_from = b.low, priority_to = b.high"
            " from unnest(%s::text[], %s::int[], %s::int[]) as b (lane, low, high)"
            " where l.lane = b.lane",
            [list(bands), [b[0] for b in bands.values()], [b[1] for b in bands.values()]],
        )
        self.bands = bands

    @rule(lane=LANE, pause=st.sampled_from([False, False, True]))
    @guarded
    def pause(self, lane: str, pause: bool) -> None:
        if pause:
            self.once("pause_lane", lane=lane, reason="a test")
            self.paused.add(lane)
        else:
            self.once("resume_lane", lane=lane)
            self.paused.discard(lane)

    @rule(used=st.sampled_from([1, 99, 100, 101]))
    @guarded
    def report_catalog(self, used: int) -> None:
        self.once("report_catalog", used_bytes=used, cap_bytes=100)
        self.full = used >= 100

    # the end -------------------------------------------------------------------------------------

    def teardown(self) -> None:
        """Leave the lanes as they were: open, empty, and at the same turn."""
        for lease in self.held.values():
            self.sql("select leases.end_lease(lease_id => %s)", [lease.lease_id])
        self.sql("delete from leases.ranges where group_id = any(%s)", [self.groups])
        self.sql("update leases.groups set active = false where group_id = any(%s)", [self.groups])
        self.sql(
            "update leases.lanes set paused_because = null, offer_from = null, offer_to = null,"
            " capture_only = false, yields_to_catalog = false, max_attempts = null"
        )
        self.sql("select leases.report_catalog(used_bytes => 0, cap_bytes => 1)")
        self.set_bands(dict(BANDS))
        if not self.broken and self.groups:
            self.even_turns()

    def even_turns(self) -> None:
        for lane, turns in self.turns.items():
            if turns.grants % 2:
                group, priority = self.groups[0], BANDS[lane][0] or 0
                self.sql(
                    "select leases.add_group(name, active => true) from leases.groups"
                    " where group_id = %s",
                    [group],
                )
                self.sql(
                    "insert into leases.ranges (group_id, start_id, end_id, priority)"
                    " values (%s, 0, 0, %s)",
                    [group, priority],
                )
                (row,) = self.once("lease_group", node_id=self.node, lane=lane)
                turns.grants += 1
                self.sql("select leases.end_lease(lease_id => %s)", [row["lease_id"]])
                self.sql("delete from leases.ranges where group_id = %s", [group])
                self.sql("update leases.groups set active = false where group_id = %s", [group])


def begun(r: dict) -> bool:
    return r["status"] == "leased" or r["next_id"] > r["start_id"]


def articles(rows: list[dict]) -> int:
    return sum(r["end_id"] - r["next_id"] + 1 for r in rows)


@pytest.mark.timeout(300)
def test_c1_to_c5_and_l3_the_choice_is_what_a_plain_query_computes(played, effort):
    played.execute(
        "update leases.lanes set priority_to = 999, yields_to_catalog = false"
        " where lane = 'history'"
    )
    played.execute(
        "insert into leases.lanes (lane, priority_from, ttl) values ('mid', 1000, '8 seconds')"
    )

    class Played(Choice):
        conn = played

    Played.turns = {lane: Turns() for lane in BANDS}
    run_state_machine_as_test(Played, settings=effort(40))
