"""What a cycle leaves behind: bytes of WAL and dead rows, against the SKIP LOCKED table's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bench import cycle, peers, pgbench, product
from bench.counters import Counters, counted
from bench.results import Figure, Result
from bench.rounds import Contender, Spread, ratios
from bench.world import World

FIGURES = [
    Figure(
        "wal_cycle", "WAL bytes a cycle, against the SKIP LOCKED table's claim and done", below=1
    ),
    Figure(
        "dead_cycle", "dead rows a cycle, against the SKIP LOCKED table's claim and done", below=1
    ),
    Figure(
        "wal_cycle_snapshots",
        f"WAL bytes a cycle with a snapshot of the window every {cycle.SNAPSHOT_EVERY:,} ranges, against the same",
        below=1,
    ),
    Figure(
        "dead_cycle_snapshots",
        f"dead rows a cycle with a snapshot of the window every {cycle.SNAPSHOT_EVERY:,} ranges, against the same",
        below=1,
    ),
]
_TRANSACTIONS = cycle.SNAPSHOT_EVERY  # a round: one snapshot of the window in it


@dataclass
class Left:
    """What one contender's cycles left, a round each."""

    contender: Contender
    schema: str
    each: list[Counters] = field(default_factory=list)

    def turn(self, world: World) -> None:
        before = counted(self.contender.database, self.schema)
        # Whether a commit waits for the disk changes nothing of what it writes.
        run = pgbench.run(
            world,
            self.contender.database,
            self.contender.script,
            transactions=_TRANSACTIONS,
            variables=self.contender.variables,
            options=pgbench.NO_WAIT,
        )
        self.each.append(counted(self.contender.database, self.schema) - before)
        if run.total != _TRANSACTIONS:
            raise RuntimeError(f"{self.contender.name}: {run.total} cycles, not {_TRANSACTIONS}")

    @property
    def wal(self) -> list[float]:
        return [c.wal_bytes / _TRANSACTIONS for c in self.each]

    @property
    def dead(self) -> list[float]:
        return [c.dead / _TRANSACTIONS for c in self.each]

    def row(self) -> dict[str, object]:
        return {
            "contender": self.contender.name,
            "wal_bytes": Spread.of(self.wal).value,
            "wal_images": Spread.of([c.wal_images / _TRANSACTIONS for c in self.each]).value,
            "dead_rows": Spread.of(self.dead).value,
            "hot_updates": Spread.of([c.updated_hot / _TRANSACTIONS for c in self.each]).value,
            "samples": _TRANSACTIONS * len(self.each),
        }


def run(world: World) -> Iterator[Result]:
    arms = _arms(world)
    with world.without_autovacuum():
        for number in range(world.scale.slow_rounds + 1):
            for arm in arms.values():
                arm.turn(world)
                if not number:  # the first time around is to warm up
                    arm.each.clear()
    claim = arms["claim"]
    rows = [a.row() for a in arms.values()]
    wal, dead, wal_all, dead_all = FIGURES
    for figure, ours, theirs in (
        (wal, arms["cycle"].wal, claim.wal),
        (dead, arms["cycle"].dead, claim.dead),
        (wal_all, arms["snapshots"].wal, claim.wal),
        (dead_all, arms["snapshots"].dead, claim.dead),
    ):
        yield Result(
            figure,
            ratios(ours, theirs),
            _TRANSACTIONS * world.scale.slow_rounds,
            f"{_TRANSACTIONS:,} cycles a round, no checkpoint in between",
            True,
            rows=rows if figure is wal else [],
        )


def _arms(world: World) -> dict[str, Left]:
    ours = world.database("wal")
    theirs = world.database("peers")
    work = (world.scale.slow_rounds + 2) * _TRANSACTIONS
    arms = {}
    for arm, snapshot, script, name in (
        ("cycle", True, product.CYCLE, "finish_and_next"),
        ("bare", False, product.CYCLE, "finish_and_next, no snapshot"),
        ("snapshots", True, cycle.CYCLE_WITH_SNAPSHOTS, "finish_and_next and snapshots"),
    ):
        product.hold(ours, arm, clients=1, ranges=work, snapshot=snapshot)
        contender = product.cycle(world, ours, name, arm, 1, script)
        contender.variables = {**contender.variables, "count": 0, "snapshot": 0}
        arms[arm] = Left(contender, "leases")
    arms["claim"] = Left(peers.skip_locked_claim(world, theirs, work), "skip_locked")
    arms["delete"] = Left(peers.skip_locked_delete(world, theirs, work), "skip_locked")
    peers.floor(world, theirs)
    arms["floor"] = Left(peers.floor(world, theirs), "floor")
    ours.settle()
    return arms
