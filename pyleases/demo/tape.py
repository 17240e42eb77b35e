"""A window that proves itself: the article numbers read, in the order they were read in.

It is kept as runs of consecutive numbers, each with the worker that read it, so millions of
articles are a few bytes. Nothing is sorted or merged out of order: an article read twice, left
out or read too early shows.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Run", "Tape", "TapeError"]

_FORMAT = "pyleases-tape-1"


class TapeError(ValueError):
    """The bytes are not a whole tape."""


@dataclass
class Run:
    """Articles ``first..last``, read one after the other by one worker."""

    first: int
    last: int
    worker: str


@dataclass
class Tape:
    """The articles that were read for one lane of one group."""

    group: str
    lane: str
    runs: list[Run] = field(default_factory=list)

    def read(self, first: int, last: int, worker: str) -> None:
        """Append the articles ``first..last``."""
        if self.runs and self.runs[-1].worker == worker and self.runs[-1].last + 1 == first:
            self.runs[-1].last = last
        else:
            self.runs.append(Run(first, last, worker))

    @property
    def articles(self) -> int:
        """How many articles are on the tape, repeated ones counted again."""
        return sum(run.last - run.first + 1 for run in self.runs)

    def dump(self) -> bytes:
        """Return the tape as a compressed file."""
        lines = [json.dumps([_FORMAT, self.group, self.lane])]
        lines += [json.dumps([run.first, run.last, run.worker]) for run in self.runs]
        lines += [json.dumps(["end", len(self.runs)]), ""]
        return gzip.compress("\n".join(lines).encode(), compresslevel=1, mtime=0)

    @classmethod
    def load(cls, body: BinaryIO) -> Tape:
        """Read a tape back. Raises `TapeError` if it is not whole."""
        try:
            return cls._parse(gzip.decompress(body.read()).decode().splitlines())
        except (OSError, EOFError, ValueError, TypeError) as error:
            raise TapeError(str(error)) from error

    @classmethod
    def _parse(cls, lines: list[str]) -> Tape:
        head, *runs, end = map(json.loads, lines)
        kind, group, lane = head
        if kind != _FORMAT or end != ["end", len(runs)]:
            raise TapeError("its first or last line is not a tape's")
        return cls(group, lane, [Run(*run) for run in runs])

    def faults(self, first: int, last: int) -> Iterator[str]:
        """Tell each way in which the tape is not ``first..last``, once each and in order."""
        expected = first
        for run in self.runs:
            if run.last < run.first:
                yield f"{run.first}..{run.last} runs backwards"
            if run.first > expected:
                yield f"{expected}..{run.first - 1} is not there before {run.first}"
            elif run.first < expected:
                yield f"{run.first}..{min(run.last, expected - 1)} is read again or out of order"
            expected = max(expected, run.last + 1)
        if expected <= last:
            yield f"{expected}..{last} is not there at the end"
        elif expected > last + 1:
            yield f"{last + 1}..{expected - 1} was never planned"


def by_worker(tapes: Iterable[Tape]) -> dict[str, int]:
    """Count the articles on the tapes by the worker that read them."""
    counts: dict[str, int] = {}
    for tape in tapes:
        for run in tape.runs:
            counts[run.worker] = counts.get(run.worker, 0) + run.last - run.first + 1
    return counts
