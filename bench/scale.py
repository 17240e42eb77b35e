"""How large the three kinds of run are."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT", "FULL", "QUICK", "Scale", "Size"]

MIB = 1 << 20


@dataclass(frozen=True, order=True)
class Size:
    """So many groups, with so many ranges between them, half of them done."""

    groups: int
    ranges: int

    def __str__(self) -> str:
        return f"{_short(self.groups)} groups, {_short(self.ranges)} ranges"

    @property
    def slug(self) -> str:
        return f"g{self.groups}_r{self.ranges}"


def _short(count: int) -> str:
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if count >= unit and count % (unit // 10) == 0:
            return f"{count / unit:g}{name}"
    return str(count)


@dataclass(frozen=True)
class Scale:
    """The numbers of one kind of run; those of the issue are FULL's.

    Many short turns rather than few long ones: what else the machine's disk does then meets all contenders alike.
    """

    name: str
    rounds: int
    slow_rounds: int  # of figures whose turns are long
    clients: tuple[int, ...]
    seconds: int  # of one contender's turn in a round
    peer_seconds: int  # the same, of a contender that is not ours and not the floor
    sizes: tuple[Size, ...]  # rising; the first is what the others are compared with
    baseline_size: Size  # where the baseline is compared with
    pairs_size: Size
    history_ranges: int
    held_cycles: int
    held_leases: int
    held_seconds: int  # how long we may take at most
    held_peer_seconds: int  # and the others
    held_lanes: tuple[int, int]
    quiet_ttl: int
    done_ranges: int
    put_back: int
    plan_ranges: int
    planner_ranges: int
    snapshot_bytes: int
    stats_ranges: int
    python_calls: int

    def enough(self, clients: int, seconds: int) -> int:
        """Return how much work all turns of so many seconds could need, on a machine far faster than today's."""
        fastest = {1: 6_000, 4: 14_000, 16: 20_000}[clients]  # a second
        return fastest * (seconds * self.rounds + 1)


FULL = Scale(
    name="full",
    rounds=8,
    slow_rounds=5,
    clients=(1, 4, 16),
    seconds=2,
    peer_seconds=1,
    sizes=(
        Size(1_000, 10_000),
        Size(1_000, 100_000),
        Size(10_000, 1_000_000),
        Size(100_000, 10_000_000),
    ),
    baseline_size=Size(10_000, 1_000_000),
    pairs_size=Size(10_000, 1_000_000),
    history_ranges=100_000,
    held_cycles=200_000,
    held_leases=10_000,
    held_seconds=240,
    held_peer_seconds=90,
    held_lanes=(100, 10_000),
    quiet_ttl=120,
    done_ranges=10_000_000,
    put_back=50_000,
    plan_ranges=1_000_000,
    planner_ranges=1_000_000,
    snapshot_bytes=4096 * MIB,
    stats_ranges=100_000,
    python_calls=2_000,
)
DEFAULT = Scale(
    name="default",
    rounds=8,
    slow_rounds=5,
    clients=(1, 4, 16),
    seconds=1,
    peer_seconds=1,
    sizes=(Size(1_000, 10_000), Size(1_000, 100_000), Size(10_000, 1_000_000)),
    baseline_size=Size(10_000, 1_000_000),
    pairs_size=Size(10_000, 1_000_000),
    history_ranges=100_000,
    held_cycles=20_000,
    held_leases=10_000,
    held_seconds=30,
    held_peer_seconds=12,
    held_lanes=(100, 10_000),
    quiet_ttl=40,
    done_ranges=1_000_000,
    put_back=10_000,
    plan_ranges=200_000,
    planner_ranges=300_000,
    snapshot_bytes=1024 * MIB,
    stats_ranges=50_000,
    python_calls=1_000,
)
QUICK = Scale(
    name="quick",
    rounds=2,
    slow_rounds=2,
    clients=(1, 16),
    seconds=1,
    peer_seconds=1,
    sizes=(Size(100, 1_000), Size(1_000, 10_000)),
    baseline_size=Size(1_000, 10_000),
    pairs_size=Size(1_000, 10_000),
    history_ranges=10_000,
    held_cycles=2_500,
    held_leases=500,
    held_seconds=5,
    held_peer_seconds=3,
    held_lanes=(20, 500),
    quiet_ttl=4,
    done_ranges=20_000,
    put_back=500,
    plan_ranges=20_000,
    planner_ranges=20_000,
    snapshot_bytes=64 * MIB,
    stats_ranges=5_000,
    python_calls=200,
)
