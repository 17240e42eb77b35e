"""The plots of docs/figures.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

__all__ = ["PLOTS", "draw"]

Results = dict[str, dict[str, Any]]

plt.rcParams.update(
    {
        "svg.hashsalt": "pyleases",
        "svg.fonttype": "none",
        "figure.figsize": (8, 4.2),
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


def _lease_by_size(axes: Axes, results: Results) -> None:
    for name, points in results["lease_flat_p50"]["series"].items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="ranges", ylabel="lease + release, p50 in ms")


def _held_cycle(axes: Axes, results: Results) -> None:
    for name, points in results["held_cycle"]["series"].items():
        made, took = zip(*points, strict=True)
        axes.plot([m / 1000 for m in made], took, label=_label(name))
    axes.set(yscale="log", xlabel="thousand cycles under a held snapshot", ylabel="a cycle, ms")


def _held_lease(axes: Axes, results: Results) -> None:
    for name, points in results["held_lease"]["series"].items():
        made, took = zip(*points, strict=True)
        axes.plot(made, took, label=_label(name))
    axes.set(
        yscale="log", xlabel="pairs under a held snapshot", ylabel="lease + release, p50 in ms"
    )


def _label(name: str) -> str:
    return {
        "held_cycle": "finish_and_next",
        "held_cycle_no_snapshot": "finish_and_next, no snapshot (mean)",
        "held_cycle_snapshots": "finish_and_next and snapshots (mean)",
        "held_lease": "pyleases",
    }.get(name, name)


def _cycles(axes: Axes, results: Results) -> None:
    rows = [r for c in (1, 4, 16) if f"cycle_{c}" in results for r in results[f"cycle_{c}"]["rows"]]
    clients = sorted({r["clients"] for r in rows})
    names = list(dict.fromkeys(_contender(r) for r in rows if "ratio" in r))
    height = 0.8 / len(clients)
    for number, count in enumerate(clients):
        found = {_contender(r): r for r in rows if r["clients"] == count and "ratio" in r}
        there = [(i, found[n]) for i, n in enumerate(names) if n in found]
        axes.barh(
            [i + number * height for i, _ in there],
            [r["ratio"] for _, r in there],
            height=height,
            xerr=(
                [r["ratio"] - r["low"] for _, r in there],
                [r["high"] - r["ratio"] for _, r in there],
            ),
            error_kw={"lw": 0.8},
            label=f"{count} client(s)",
        )
    axes.set_yticks([i + height * (len(clients) - 1) / 2 for i in range(len(names))], names)
    axes.invert_yaxis()
    axes.axvline(0.9, color="black", lw=0.8, ls="--")
    axes.set(xlabel="cycles a second, against the floor (dashed: 0.9)")


def _contender(row: dict[str, Any]) -> str:
    return CONTENDERS.get(str(row["contender"]).rpartition("_")[0], str(row["contender"]))


CONTENDERS = {
    "cycle": "finish_and_next",
    "cycle_no_snapshot": "finish_and_next, no snapshot",
    "cycle_snapshots": "finish_and_next and snapshots",
}

# Each plot's file name, the figure that it stands under, what it shows, and what draws it.
PLOTS: list[tuple[str, str, str, Callable[[Axes, Results], None]]] = [
    (
        "lease-by-size",
        "lease_flat_p50",
        "Lease + release against the number of ranges",
        _lease_by_size,
    ),
    ("cycle", "cycle_1", "A cycle against the floor", _cycles),
    ("held-cycle", "held_cycle", "A cycle against time under a held snapshot", _held_cycle),
    ("held-lease", "held_lease", "Lease + release against time under a held snapshot", _held_lease),
]


def draw(folder: Path, results: Results) -> None:
    """Draw the plots of the figures that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure, title, plot in PLOTS:
        if figure not in results:
            continue
        drawn, axes = plt.subplots(layout="constrained")
        plot(axes, results)
        axes.set_title(title)
        axes.legend(frameon=False, fontsize="small")
        drawn.savefig(folder / f"{name}.svg", metadata={"Date": None})
        plt.close(drawn)
