"""The planner of the demo: a process that plans lists with more and more articles."""

from __future__ import annotations

import io
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyleases
from pyleases.active import ActiveList, Group, plan_active, raw_name, read_active

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Spans", "Watch", "answer_of", "plan_and_keep", "spans_of", "watch"]

HISTORY, TAIL = "history", "tail"
_MOST_ARTICLES = 25

Plan = Callable[[pyleases.Leases, bytes, Path, int], object]  # as `plan_and_keep`
Spans = dict[tuple[str, str], tuple[int, int]]  # (group, lane): first and last article


@dataclass(frozen=True)
class Watch:
    """What the planner process is told."""

    dsn: str
    lists: Path  # the folder of the lists that were planned
    stop: Path  # it ends when this file is there
    every: float  # seconds between two looks
    busy: int  # groups that something arrives in between two looks
    size: int
    seed: int


def watch(job: Watch, plan: Plan | None = None) -> None:
    """Plan what has newly arrived, again and again, until told to stop."""
    plan = plan or plan_and_keep
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    rng = random.Random(job.seed)  # noqa: S311
    number = len(list(job.lists.glob("*.active")))
    groups = list(_read(max(job.lists.glob("*.active"))).groups)
    with pyleases.connect(job.dsn) as leases:
        while not job.stop.exists():
            for i in rng.sample(range(len(groups)), min(len(groups), job.busy)):
                g = groups[i]
                groups[i] = Group(g.name, g.low, g.high + rng.randint(1, _MOST_ARTICLES))
            plan(leases, answer_of(groups), job.lists / f"{number:06}.active", job.size)
            number += 1
            time.sleep(job.every)


def plan_and_keep(leases: pyleases.Leases, answer: bytes, file: Path, size: int) -> ActiveList:
    """Plan a list, and keep it beside the others for the proof."""
    active = read_active(io.BytesIO(answer))
    plan_active(leases, active, size=size)
    file.write_bytes(answer)
    return active


def answer_of(groups: Sequence[Group]) -> bytes:
    """Return the answer of a server that has these groups."""
    lines = [b"%b %010d %010d y\r\n" % (raw_name(g.name), g.high, g.low) for g in groups]
    return b"".join([b"215 list of newsgroups follows\r\n", *lines, b".\r\n"])


def spans_of(lists: Path) -> Spans:
    """Tell from the kept lists alone what has to be on the tapes.

    What a group had in its first list is history, what came later is tail.
    """
    spans: Spans = {}
    firsts: dict[str, int] = {}
    for file in sorted(lists.glob("*.active")):
        for g in _read(file).groups:
            if g.name not in firsts:
                firsts[g.name] = g.high
                if g.articles:
                    spans[g.name, HISTORY] = (g.low, g.high)
            elif g.high > firsts[g.name]:
                spans[g.name, TAIL] = (firsts[g.name] + 1, g.high)
    return spans


def _read(file: Path) -> ActiveList:
    with file.open("rb") as lines:
        return read_active(lines)
