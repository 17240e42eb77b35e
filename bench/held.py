"""Cost against time while someone holds an old snapshot open: a long report, a stuck backup."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from bench import cycle, peers, pgbench, product
from bench.results import Figure, Result
from bench.rounds import Contender, Spread
from bench.world import Database, World

FIGURES = [
    Figure(
        "held_cycle",
        "`finish_and_next` p50 at the end of the cycles under a held snapshot, against its start",
        at_most=1.5,
    ),
    Figure(
        "held_cycle_no_snapshot",
        "the same in a lane without a snapshot of its window: the mean, with the folding of its log",
        at_most=1.5,
    ),
    Figure(
        "held_cycle_snapshots",
        f"the same with a snapshot of the window every {cycle.SNAPSHOT_EVERY:,} ranges: the mean, with the commits",
        at_most=1.5,
    ),
    Figure(
        "held_lease",
        "lease + release p50 at the end of the pairs under a held snapshot, against its start",
        at_most=2,
    ),
]
_CYCLE, _NO_SNAPSHOT, _SNAPSHOTS, _LEASE = FIGURES

APPEND = "select floor.append();\n"
_LAST = 5  # turns at the end, whose spread is shown


@dataclass
class Course:
    """One contender's turns under the held snapshot: how many it had made, and what they took."""

    contender: Contender
    measure: Callable[[pgbench.Run], float]
    seconds: int  # it may take
    free: float = 0.0  # before the snapshot was held
    made: list[int] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    spent: float = 0.0

    def turn(self, world: World, transactions: int) -> None:
        run = self.contender.turn(world, transactions)
        self.made.append((self.made[-1] if self.made else 0) + run.total)
        self.took.append(self.measure(run))
        self.spent += run.total / run.rate

    @property
    def start(self) -> float:
        """Return the cost at the start: before the snapshot was held, or in the first turn under it, the lower."""
        return min(self.free, self.took[0])

    @property
    def growth(self) -> Spread:
        """Return the last turns' cost against the start's."""
        return Spread.of([t / self.start for t in self.took[-_LAST:]])

    def row(self) -> dict[str, object]:
        return {
            "contender": self.contender.name,
            "none_held_ms": self.free,
            "start_ms": self.took[0],
            "end_ms": float(np.median(self.took[-_LAST:])),
            "made": self.made[-1],
        }

    @property
    def points(self) -> list[tuple[float, float]]:
        return list(zip(map(float, self.made), self.took, strict=True))


def run(world: World) -> Iterator[Result]:
    yield from _cycles(world)
    yield _leases(world)


def _p50(run: pgbench.Run) -> float:
    return run.p50


def _mean(run: pgbench.Run) -> float:
    return run.mean


def _cycles(world: World) -> Iterator[Result]:
    scale = world.scale
    wanted = scale.held_cycles
    ours = world.fresh("held_cycle")
    theirs = world.fresh("held_peers", product=False)
    arms = (
        (_CYCLE, True, product.CYCLE, _p50),
        (_NO_SNAPSHOT, False, product.CYCLE, _mean),
        (_SNAPSHOTS, True, cycle.CYCLE_WITH_SNAPSHOTS, _mean),
    )
    courses = []
    chunk = _chunk(wanted)
    for figure, snapshot, script, measure in arms:
        name = figure.name
        product.hold(ours, name, clients=1, ranges=wanted + 4 * chunk, snapshot=snapshot)
        contender = product.cycle(world, ours, name, name, 1, script)
        contender.variables = {**contender.variables, "count": 0, "snapshot": 0}
        courses.append(Course(contender, measure, scale.held_seconds))
    ours.settle()
    courses += [
        Course(c, _p50, scale.held_peer_seconds) for c in _peers(world, theirs, wanted + 4 * chunk)
    ]
    _under_a_held_snapshot(world, [ours, theirs], courses, wanted, chunk)
    append = courses[-1]
    for (figure, *_), course in zip(arms, courses, strict=False):
        yield _result(figure, course, courses, wanted, 200_000, append)
    world.drop(ours)
    world.drop(theirs)


def _peers(world: World, database: Database, work: int) -> list[Contender]:
    peers.floor(world, database)
    append = Contender(
        name="one row appended",
        database=database,
        script=APPEND,
        done=lambda: int(database.value("select count(*) from floor.log")),
        seconds=1,
    )
    return [
        peers.baseline_cycle(world, database, 1_000, 1, work, one_call=True),
        peers.skip_locked_claim(world, database, work),
        peers.skip_locked_delete(world, database, work),
        append,
    ]


def _leases(world: World) -> Result:
    scale = world.scale
    wanted = scale.held_leases
    size = scale.sizes[0]
    ours = world.fresh("held_lease")
    product.build(ours, size)
    theirs = world.fresh("held_lease_baseline", product=False)
    peers.baseline_build(theirs, size)
    courses = [
        Course(
            product.lease_and_release(world, ours, "held_lease", clients=1),
            _p50,
            scale.held_seconds,
        ),
        Course(peers.baseline_lease(world, theirs), _p50, scale.held_peer_seconds),
    ]
    _under_a_held_snapshot(world, [ours, theirs], courses, wanted, _chunk(wanted))
    result = _result(_LEASE, courses[0], courses, wanted, 10_000, None)
    world.drop(ours)
    world.drop(theirs)
    return result


def _chunk(wanted: int) -> int:
    """Return the transactions of a turn; a multiple of the cycles a snapshot, where there are enough."""
    chunk = wanted // 20
    return chunk // cycle.SNAPSHOT_EVERY * cycle.SNAPSHOT_EVERY or max(chunk, 50)


@contextlib.contextmanager
def _held(database: Database) -> Iterator[None]:
    """Hold a snapshot open, as a long report does."""
    with database.connect(autocommit=False) as holder:
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from pg_class")
        yield
        holder.rollback()


def _under_a_held_snapshot(
    world: World, databases: list[Database], courses: list[Course], wanted: int, chunk: int
) -> None:
    """Let all take turns until each has made as many as wanted, or has had its time."""
    for course in courses:
        course.contender.turn(world, transactions=50)
        course.free = course.measure(course.contender.turn(world, chunk))
    with contextlib.ExitStack() as stack:
        for database in databases:
            stack.enter_context(_held(database))
        going = list(courses)
        while going:
            for course in going:
                course.turn(world, chunk)
            going = [c for c in going if c.made[-1] < wanted and c.spent < c.seconds]
            going = [*going[1:], *going[:1]]


def _result(
    figure: Figure,
    course: Course,
    courses: list[Course],
    wanted: int,
    target: int,
    append: Course | None,
) -> Result:
    made = course.made[-1]
    notes = []
    if append:
        notes.append(
            f"The machine itself meanwhile: the commit of one appended row came to {append.growth.value:.2f} times "
            f"its start of {append.start:.2f} ms."
        )
    if made < wanted:
        notes.append(f"Stopped after {course.spent:.0f} s.")
    main = course is courses[0]
    return Result(
        figure,
        course.growth,
        made,
        f"{made:,} under the held snapshot",
        made >= target,
        rows=[c.row() for c in courses] if main else [],
        series={c.contender.name: c.points for c in courses} if main else {},
        notes=notes,
    )
