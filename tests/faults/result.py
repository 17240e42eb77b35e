"""What a run came to: a line of the table, and what was wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pyleases.demo.arrivals import Spans
from pyleases.demo.proof import Proof
from pyleases.demo.tape import Tape
from pyleases.demo.worker import history_of
from tests.faults.worker import Calls


@dataclass
class Result:
    """A line of the table, and what was wrong."""

    name: str
    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    unanswered: int = 0
    read: int = 0
    planned: int = 0
    lost: int = 0
    repeated: int = 0
    seconds: float = 0.0
    states: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def read_again(self) -> int:
        """Articles read into a window that was then lost, and read by another again."""
        return self.read - (self.planned - self.lost + self.repeated)

    def count(self, proof: Proof, spans: Spans, journals: list[Path]) -> None:
        """Add up what the workers say they did, and what is on the tapes."""
        for journal in journals:
            calls, unanswered = Calls.read(journal.with_suffix(".calls"))
            self.calls += calls
            self.unanswered += unanswered
            self._count_events(journal)
        for key, (first, last) in spans.items():
            planned = last - first + 1
            there, repeated = _coverage(proof.tapes.get(key, Tape(*key)), first, last)
            self.planned += planned
            self.lost += planned - there
            self.repeated += repeated

    def _count_events(self, journal: Path) -> None:
        for event in history_of(journal):
            if event["did"] == "read":
                self.read += event["articles"]
            elif event["did"] == "error" and event["error"].startswith("OSError: [Errno 5]"):
                self.faults["a write, a sync or a close failed (EIO)"] += 1
            elif event["did"] == "zombie" and event["accepted"]:
                self.wrong.append(f"{event['accepted']} calls of a zombie went through")


def _coverage(tape: Tape, first: int, last: int) -> tuple[int, int]:
    """Return how many articles of the span are on the tape, and how often one is there again."""
    there, upto = 0, first - 1
    for run in sorted(tape.runs, key=lambda run: run.first):
        there += max(0, min(run.last, last) - max(run.first, upto + 1) + 1)
        upto = max(upto, run.last)
    return there, tape.articles - there
