"""Contenders take turns, in rounds whose order rotates, and are held to the work they say they did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bench import pgbench
from bench.world import Database, World

__all__ = ["Contender", "Spread", "Turns", "in_rounds", "ratios"]


@dataclass
class Contender:
    """What does the work: a pgbench script on a database, and a count of the work that is done there."""

    name: str
    database: Database
    script: str
    done: Callable[[], int]
    seconds: int
    clients: int = 1
    variables: Mapping[str, object] = field(default_factory=dict)

    warm_up: int = 50  # transactions of each client before the first round
    options: str = ""  # of its connections
    may_miss: bool = False  # a transaction may find nothing: then only what was done is counted

    def turn(self, world: World, transactions: int | None = None) -> pgbench.Run:
        """Work for one turn, or so many transactions of each client.

        Raises if the database does not show as much as pgbench counted.
        """
        before = self.done()
        run = pgbench.run(
            world,
            self.database,
            self.script,
            clients=self.clients,
            seconds=None if transactions else self.seconds,
            transactions=transactions,
            variables=self.variables,
            options=self.options,
        )
        made = self.done() - before
        if made == run.total:
            return run
        if self.may_miss and 0 < made < run.total:
            return replace(run, rate=run.rate * made / run.total)
        raise RuntimeError(f"{self.name}: pgbench made {run.total}, the database shows {made}")


@dataclass
class Turns:
    """All turns of one contender, a round each."""

    runs: list[pgbench.Run] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        return [r.rate for r in self.runs]

    @property
    def p50s(self) -> list[float]:
        return [r.p50 for r in self.runs]

    @property
    def p99s(self) -> list[float]:
        return [r.p99 for r in self.runs]

    @property
    def counted(self) -> int:
        return sum(r.counted for r in self.runs)

    def row(self) -> dict[str, Any]:
        """Return what the tables show of it."""
        return {
            "rate": float(np.median(self.rates)),
            "p50_ms": float(np.median(self.p50s)),
            "p99_ms": float(np.median(self.p99s)),
            "samples": self.counted,
        }


def in_rounds(world: World, contenders: Sequence[Contender]) -> dict[str, Turns]:
    """Let each warm up, then give each a turn a round; the order rotates by one a round."""
    for contender in contenders:
        contender.turn(world, transactions=contender.warm_up)
    turns = {c.name: Turns() for c in contenders}
    for number in range(world.scale.rounds):
        first = number % len(contenders)
        for contender in [*contenders[first:], *contenders[:first]]:
            turns[contender.name].runs.append(contender.turn(world))
    return turns


@dataclass(frozen=True)
class Spread:
    """The median of some rounds' values, and the lowest and highest of them."""

    value: float
    low: float
    high: float
    rounds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(float(np.median(values)), min(values), max(values), len(values))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Return the spread of the ratios, each of two values of the same round."""
    return Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])
