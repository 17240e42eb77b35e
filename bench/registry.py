"""All figures, by the module that measures them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench import (
    cycle,
    heartbeat,
    held,
    lease,
    plan,
    planner_meets_holders,
    quiet,
    settle,
    snapshots,
    stats,
    wal,
    wrapper,
)
from bench.results import Figure, Result
from bench.world import World

__all__ = ["FAMILIES", "Family", "chosen"]


@dataclass(frozen=True)
class Family:
    """A module's figures, which are measured together."""

    name: str
    figures: list[Figure]
    run: Callable[[World], Iterator[Result]]


FAMILIES = [
    Family(module.__name__.rpartition(".")[2], module.FIGURES, module.run)
    for module in (
        lease,
        quiet,
        cycle,
        held,
        heartbeat,
        settle,
        plan,
        wal,
        wrapper,
        snapshots,
        planner_meets_holders,
        stats,
    )
]


def chosen(names: list[str]) -> list[Family]:
    """Return the families that are named, or have a figure that is; all where nothing is named."""
    known = {f.name for family in FAMILIES for f in family.figures} | {f.name for f in FAMILIES}
    unknown = set(names) - known
    if unknown:
        raise ValueError(
            f"no figure {', '.join(sorted(unknown))}; there are: {', '.join(sorted(known))}"
        )
    return [
        family
        for family in FAMILIES
        if not names or family.name in names or any(f.name in names for f in family.figures)
    ]
