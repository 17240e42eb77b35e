"""What a trial came to: the comparison with one undisturbed pass, the figures, and the picture."""

from __future__ import annotations

import functools
import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from rich.console import Console
from rich.table import Table

from examples.usenet.news import News
from examples.usenet.window import Post, Window

Lane = tuple[str, str]  # a group's name and the lane's
Spans = dict[Lane, list[tuple[int, int]]]  # the ranges of each
_AT_ONCE = 1_000  # articles
_COLOURS = (
    "tab:blue",
    "tab:orange",
    "tab:green",
    "tab:purple",
    "tab:cyan",
    "tab:pink",
    "tab:olive",
)


@dataclass
class Hold:
    """A lease, as its worker's journal tells of it."""

    worker: str
    lease: int
    lane: Lane
    start: float
    end: float
    how: str = ""  # it ended
    unsaved: int = 0  # batches read since the last snapshot
    counts: Counter[str] = field(default_factory=Counter)
    reads: list[tuple[int, int]] = field(default_factory=list)


def holds_of(journals: Iterable[Path], harm: Mapping[int, tuple[str, float]]) -> list[Hold]:
    """Put the workers' journals together, in the order of the leases."""
    holds: dict[int, Hold] = {}
    for journal in journals:
        # The last line may be half written, for ever where the worker was killed.
        lines = journal.read_text().splitlines(keepends=True) if journal.exists() else []
        for event in (json.loads(line) for line in lines if line.endswith("\n")):
            lease, at, did = event["lease"], event["at"], event["did"]
            if did == "lease":
                holds[lease] = Hold(journal.name, lease, (event["group"], event["lane"]), at, at)
            hold = holds[lease]
            hold.end = at
            hold.counts[did] += 1
            hold.unsaved = hold.unsaved + 1 if did == "read" else 0
            if did == "read":
                hold.reads.append((event["first"], event["last"]))
                hold.counts.update({n: event[n] for n in ("articles", "posts", "new")})
            if did in ("released", "lost", "gave up"):
                hold.how = did
    for lease, (what, at) in harm.items():
        if lease in holds:
            holds[lease].how, holds[lease].end = what, at
    return [holds[lease] for lease in sorted(holds)]


def successions(holds: Iterable[Hold]) -> list[tuple[Hold, Hold]]:
    """Return each lease of a lane with the one before it."""
    lanes = defaultdict(list)
    for hold in holds:
        lanes[hold.lane].append(hold)
    return [pair for lane in lanes.values() for pair in itertools.pairwise(lane)]


def read_twice(holds: Iterable[Hold]) -> Counter[str]:
    """Count the article numbers that a lease read again, by how the lease before it ended."""
    again: Counter[str] = Counter()
    for before, after in successions(holds):
        end = max((last for _, last in before.reads), default=0)
        if both := sum(max(0, min(last, end) - first + 1) for first, last in after.reads):
            again[before.how] += both
    return again


def spans_of(connection: psycopg.Connection[Any]) -> Spans:
    """Return the ranges that were planned, in order."""
    lanes = defaultdict(list)
    for group, lane, start, end in connection.execute(
        "select name, lane, start_id, end_id from leases.range_status join leases.groups using (group_id) "
        "order by group_id, start_id"
    ):
        lanes[group, lane].append((start, end))
    return dict(lanes)


def whole_groups(spans: Spans) -> Spans:
    """Return the ranges of each group, of both lanes as if they were one."""
    groups = defaultdict(list)
    for (group, _), ranges in spans.items():
        groups[group, "both"].extend(ranges)
    return {group: sorted(ranges) for group, ranges in groups.items()}


def holes(spans: Spans) -> list[Any]:
    """Return where the ranges of a group do not follow on each other; there should be no such place."""
    pairs = (
        (group, *pair)
        for group, ranges in whole_groups(spans).items()
        for pair in itertools.pairwise(ranges)
    )
    return [place for place in pairs if place[2][0] != place[1][1] + 1]


def undisturbed(news: News, spans: Spans, width: int) -> tuple[Counter[Any], int]:
    """Read each lane in order, through one window that nobody hands on; count posts and articles."""
    found: Counter[Any] = Counter()
    articles = 0
    for (group, lane), ranges in spans.items():
        ask = functools.partial(news.overviews, group)
        window = Window.fresh(width, ranges[0][0], ask)
        for start in range(ranges[0][0], ranges[-1][1] + 1, _AT_ONCE):
            end = min(start + _AT_ONCE - 1, ranges[-1][1])
            overviews = ask(start, end)
            articles += len(overviews)
            found.update((group, lane, post) for post in window.read(overviews, end + 1))
    return found, articles


def catalog(connection: psycopg.Connection[Any]) -> Counter[Any]:
    """Count the posts that the workers have written."""
    rows = connection.execute(
        "select group_name, lane, poster, name, numbers, message_ids from usenet.posts"
    )
    return Counter(
        (g, lane, Post(poster, name, tuple(ns), tuple(ids)))
        for g, lane, poster, name, ns, ids in rows
    )


def tell(
    connection: psycopg.Connection[Any], news: News, holds: list[Hold], width: int, seconds: float
) -> bool:
    """Compare, print what came of it, and return whether all is right."""
    spans, written = spans_of(connection), catalog(connection)
    began = time.monotonic()
    expected, articles = undisturbed(news, spans, width)
    pass_seconds = time.monotonic() - began
    whole = {(group, post) for group, _, post in undisturbed(news, whole_groups(spans), width)[0]}
    counts = sum((hold.counts for hold in holds), Counter[str]())
    console = Console(highlight=False, width=100)
    table = Table("what", "figure")
    for what, figure in {
        "articles that are there": articles,
        "articles read by the workers": counts["articles"],
        "articles a second, at the workers' pace": counts["articles"] / seconds,
        "articles a second, in the undisturbed pass": articles / pass_seconds,
        "leases": len(holds),
        "snapshots": counts["snapshot"],
        "times asked again while INN was away": counts["asked again"],
        "posts in the catalog": written.total(),
        "posts written again, which changed nothing": counts["posts"] - counts["new"],
        "posts that only a pass over both lanes would find": len(
            whole - {(g, p) for g, _, p in expected}
        ),
    }.items():
        table.add_row(what, f"{figure:,.0f}")
    console.print(table)
    taken = [(before, after) for before, after in successions(holds) if before.how != "released"]
    for before, after in taken:
        after_s = f"{after.start - before.end:.1f} s later"
        console.print(
            f"{before.worker} {before.how}: {' '.join(before.lane)} taken over by {after.worker} {after_s}"
        )
    for how, numbers in read_twice(holds).items():
        console.print(f"read twice, since the lease before was {how}: {numbers:,} article numbers")
    wrong = {
        "missing": list(expected - written),
        "too many": list(written - expected),
        "holes in the plan": holes(spans),
        "harmed, but not taken over": {"killed", "frozen"} - {before.how for before, _ in taken},
    }
    for what, items in wrong.items():
        for item in itertools.islice(items, 3):
            console.print(f"{what}: {item}")
    console.print(
        f"catalog against one undisturbed pass: {', '.join(f'{len(i)} {w}' for w, i in wrong.items())}"
    )
    return not any(wrong.values())


def draw(path: Path, holds: list[Hold], events: Sequence[tuple[str, float, float]]) -> None:
    """Draw who held which lane when: a row a lane, a colour a worker, takeovers marked."""
    lanes = sorted({hold.lane for hold in holds}, key=lambda lane: (lane[1], lane[0]))
    workers = sorted({hold.worker for hold in holds})
    colours = dict(zip(workers, itertools.cycle(_COLOURS), strict=False))
    zero = min(hold.start for hold in holds)
    figure = Figure(figsize=(11, 1.6 + 0.3 * len(lanes)), layout="constrained")
    axes = figure.subplots()
    for hold in holds:
        bar = (hold.start - zero, max(hold.end - hold.start, 0.05))
        axes.broken_barh(
            [bar], (lanes.index(hold.lane) - 0.4, 0.8), color=colours[hold.worker], lw=0
        )
    for before, after in successions(holds):
        if before.how != "released":
            row = lanes.index(after.lane)
            axes.plot(
                [before.end - zero, after.start - zero], [row, row], "k:>", lw=1, markevery=[1]
            )
    for number, (what, start, end) in enumerate(events, start=1):
        left, right = start - zero, max(end, start + 0.1) - zero
        axes.axvspan(left, right, color="firebrick", alpha=0.25, lw=0, zorder=0)
        axes.text(left, len(lanes) - 0.4 + 0.7 * (number % 4), what, color="firebrick", fontsize=8)
    axes.set(xlabel="seconds", ylim=(-0.6, len(lanes) + 2.5))
    axes.set_yticks(range(len(lanes)), [f"{group}  {lane}" for group, lane in lanes], fontsize=8)
    handles = [Patch(color=colour, label=worker) for worker, colour in colours.items()]
    figure.legend(handles=handles, loc="outside right center")
    figure.savefig(path, dpi=100)
