"""What was measured, as it is kept in JSON and shown in the docs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.rounds import Spread

__all__ = ["Figure", "Result", "load", "save"]


@dataclass(frozen=True)
class Figure:
    """What is measured, and what it must reach: ``at_most`` or ``at_least``, or neither: reported only."""

    name: str
    what: str
    unit: str = "×"
    at_most: float | None = None
    at_least: float | None = None
    below: float | None = None

    @property
    def target(self) -> str:
        for sign, bound in (("≤", self.at_most), ("≥", self.at_least), ("<", self.below)):
            if bound is not None:
                return f"{sign} {bound:g} {self.unit}"
        return "reported"

    def met(self, value: float) -> bool | None:
        if self.at_most is not None:
            return value <= self.at_most
        if self.at_least is not None:
            return value >= self.at_least
        return value < self.below if self.below is not None else None


@dataclass
class Result:
    """One figure's value. ``whole`` says that it was measured at the sizes that the target names."""

    figure: Figure
    spread: Spread
    samples: int
    at: str
    whole: bool
    rows: list[dict[str, Any]] = field(default_factory=list)  # each contender's own numbers
    series: dict[str, list[tuple[float, float]]] = field(default_factory=dict)  # what is plotted
    notes: list[str] = field(default_factory=list)

    def as_json(self, run: dict[str, Any]) -> dict[str, Any]:
        return {
            "figure": self.figure.name,
            "what": self.figure.what,
            "unit": self.figure.unit,
            "target": self.figure.target,
            **asdict(self.spread),
            "samples": self.samples,
            "at": self.at,
            "whole": self.whole,
            "met": self.figure.met(self.spread.value),
            "rows": self.rows,
            "series": self.series,
            "notes": self.notes,
            "run": run,
        }


def save(folder: Path, result: Result, run: dict[str, Any]) -> None:
    """Write the figure's file."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result.as_json(run), indent=1, ensure_ascii=False)
    folder.joinpath(f"{result.figure.name}.json").write_text(text + "\n")


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """Read every figure's file."""
    return {p.stem: json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))}
