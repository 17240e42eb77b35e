"""Choosing a group: lease + release, whose cost must not grow with the work."""

from __future__ import annotations

from collections.abc import Iterator

from bench import least, peers, product
from bench.results import Figure, Result
from bench.rounds import Contender, Spread, Turns, in_rounds, ratios
from bench.scale import Size
from bench.world import World

FIGURES = [
    Figure(
        "lease_flat_p50",
        "lease + release, p50 at the largest size against the smallest",
        at_most=1.3,
    ),
    Figure("lease_flat_p99", "the same, p99", at_most=3),
    Figure(
        "lease_against_baseline",
        "lease + release p50, times as fast as the baseline",
        at_least=500,
    ),
    Figure(
        "lease_pairs_16",
        "lease + release pairs a second against the floor: 16 clients",
        at_least=0.45,
    ),
]
_FLAT_P50, _FLAT_P99, _AGAINST_BASELINE, _PAIRS = FIGURES


def run(world: World) -> Iterator[Result]:
    yield from _flat(world)
    yield _pairs(world)


def _flat(world: World) -> Iterator[Result]:
    scale = world.scale
    ours = {s: _ours(world, s) for s in scale.sizes}
    theirs = {s: _theirs(world, s) for s in scale.sizes}
    turns = in_rounds(world, [*ours.values(), *theirs.values()])
    small, large = (turns[ours[s].name] for s in (scale.sizes[0], scale.sizes[-1]))
    at = f"{scale.sizes[-1]} against {scale.sizes[0]}"
    whole = scale.sizes[-1] >= Size(100_000, 10_000_000)
    rows = [
        {"contender": who, "size": str(s), **turns[c.name].row()}
        for who, contenders in (("pyleases", ours), ("baseline", theirs))
        for s, c in contenders.items()
    ]
    series = {
        who: [(float(s.ranges), turns[c.name].row()["p50_ms"]) for s, c in contenders.items()]
        for who, contenders in (("pyleases", ours), ("baseline", theirs))
    }
    samples = small.counted + large.counted
    p50 = ratios(large.p50s, small.p50s)
    yield Result(_FLAT_P50, p50, samples, at, whole, rows=rows, series=series)
    yield Result(_FLAT_P99, ratios(large.p99s, small.p99s), samples, at, whole)
    yield _against_baseline(
        world, turns[ours[scale.baseline_size].name], turns[theirs[scale.baseline_size].name]
    )


def _against_baseline(world: World, ours: Turns, theirs: Turns) -> Result:
    size = world.scale.baseline_size
    return Result(
        _AGAINST_BASELINE,
        ratios(theirs.p50s, ours.p50s),
        ours.counted + theirs.counted,
        str(size),
        size.ranges >= 1_000_000,
    )


def _ours(world: World, size: Size) -> Contender:
    name = f"pyleases at {size}"
    return product.lease_and_release(world, product.sized(world, size), name, clients=1)


def _theirs(world: World, size: Size) -> Contender:
    contender = peers.baseline_lease(world, peers.baseline_sized(world, size))
    contender.name = f"baseline at {size}"
    return contender


def _pairs(world: World) -> Result:
    size = world.scale.pairs_size
    database = product.sized(world, size)
    ours = product.lease_and_release(world, database, "pyleases", clients=16)
    floor = peers.floor(world, world.database("peers"), clients=16)
    copy = world.database("least_pairs", template=database)
    bare = least.of(product.lease_and_release(world, copy, least.NAME, clients=16), copy)
    turns = in_rounds(world, [ours, floor, bare])
    spread: Spread = ratios(turns["pyleases"].rates, turns["floor"].rates)
    return Result(
        _PAIRS,
        spread,
        turns["pyleases"].counted,
        f"{size}, 16 clients",
        size.ranges >= 1_000_000,
        rows=[{"contender": n, "clients": 16, **t.row()} for n, t in turns.items()],
    )
