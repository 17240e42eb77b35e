"""Write docs/figures.md from bench/results/*.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.plots import CONTENDERS, PLOTS, draw
from bench.registry import FAMILIES, Family
from bench.results import Figure, load
from bench.world import HERE

__all__ = ["render"]

Results = dict[str, dict[str, Any]]

LIMITS = HERE / "limits"

_INTRO = """\
# Figures

What `make bench` measured. It starts a server of its own, on disk and with fsync on, and lets all contenders take
turns in rounds whose order rotates. A figure is the median of its rounds' ratios, each of two turns of the same round;
in brackets are the lowest and the highest of them. After each turn the work done is counted in the database, and a run
in which anything failed or is missing gives no figure.

- The **floor** is one PL/pgSQL call that updates two rows by key and commits ([floor.sql](../bench/floor.sql)).
- The **baseline** is the obvious design, plainly written: the backlog summed over ranges under one advisory lock, the
  status on ranges, the heartbeat on the lane's row ([baseline.sql](../bench/baseline.sql)).
- The **least of this design** is what ours could do if it checked nothing: the statements that it can't be without, on
  its own tables ([least.sql](../bench/least.sql)).
- The **peers**: a SKIP LOCKED table in two forms ([skip_locked.sql](../bench/skip_locked.sql)), procrastinate with a
  lock a group, PgQ with batches of one event.

`make bench` takes about 15 minutes, `make bench FULL=1` an hour and has the sizes that the targets name, `QUICK=1`
shows in three minutes that everything runs. `ONLY=name,name` measures single figures or families
(`.venv/bin/python -m bench --list`).
"""

_TITLES = {
    "lease": "Choosing a group",
    "quiet": "Looking for quiet holders",
    "cycle": "A cycle",
    "held": "Under a held snapshot",
    "heartbeat": "Heartbeats",
    "settle": "Settling",
    "plan": "Planning",
    "wal": "What a cycle leaves behind",
    "wrapper": "The Python package",
    "snapshots": "Snapshot files",
    "planner_meets_holders": "A planner meets holders",
    "stats": "Statistics at the worst moment",
}

# How the columns of the contenders' tables are headed and written.
_COLUMNS = {
    "contender": ("", "{}"),
    "size": ("size", "{}"),
    "clients": ("clients", "{}"),
    "rate": ("a second", "{:,.0f}"),
    "ratio": ("ratio", "{:.2f}"),
    "seconds": ("seconds", "{:.2f}"),
    "mib_s": ("MiB/s", "{:,.0f}"),
    "peak_mib": ("peak MiB", "{:.0f}"),
    "p50_ms": ("p50 ms", "{:.2f}"),
    "p99_ms": ("p99 ms", "{:.2f}"),
    "mean_ms": ("mean ms", "{:.2f}"),
    "none_held_ms": ("none held, ms", "{:.2f}"),
    "start_ms": ("at once, ms", "{:.2f}"),
    "end_ms": ("at the end, ms", "{:.2f}"),
    "made": ("made", "{:,}"),
    "wal_bytes": ("WAL bytes", "{:,.0f}"),
    "wal_images": ("page images", "{:.3f}"),
    "dead_rows": ("dead rows", "{:.2f}"),
    "hot_updates": ("HOT updates", "{:.2f}"),
    "samples": ("samples", "{:,}"),
}


def render(results_folder: Path, page: Path) -> list[str]:
    """Write the page and its plots; return the figures that miss their target and have no limit written down."""
    results = load(results_folder)
    runs = _runs(results)
    draw(page.with_suffix(""), results)
    parts = [_INTRO, *_about(runs), *_targets(results, runs)]
    for family in FAMILIES:
        parts += _family(family, results, page)
    page.write_text("\n".join(parts).rstrip() + "\n")
    return [
        name
        for name, r in results.items()
        if r["met"] is False and _limit_of(_family_of(name), name) is None
    ]


def _family_of(figure: str) -> Family:
    return next(f for f in FAMILIES if any(g.name == figure for g in f.figures))


def _runs(results: Results) -> list[dict[str, Any]]:
    """Return the runs that the results are of, each once; one, if the page is of a whole run."""
    runs: list[dict[str, Any]] = []
    for result in results.values():
        if result["run"] not in runs:
            runs.append(result["run"])
    return sorted(runs, key=lambda run: str(run["began"]))


def _about(runs: list[dict[str, Any]]) -> Iterator[str]:
    yield "## The run\n" if len(runs) == 1 else "## The runs\n"
    for number, run in enumerate(runs, 1):
        settings = ", ".join(f"`{k} = {v}`" for k, v in sorted(run["settings"].items()))
        yield (
            f"{number}. {run['began']}, commit {run['commit']}, sizes of a {run['scale']} run; "
            f"load {run['load']} as it began. {run['postgresql']} on {run['cores']} cores ({run['cpu']}), "
            f"{run['memory_gib']} GiB, "
            f"{run['filesystem']}; Python {run['python']}. Settings: {settings}; the rest as `initdb` leaves them."
        )
    yield ""


def _targets(results: Results, runs: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Targets\n"
    several = len(runs) > 1
    yield f"| what | target | measured | at | rounds, samples | met |{' run |' if several else ''}"
    yield f"| --- | --- | --- | --- | --- | --- |{' --- |' if several else ''}"
    for family in FAMILIES:
        for figure in family.figures:
            if figure.name in results:
                result = results[figure.name]
                run = f" {runs.index(result['run']) + 1} |" if several else ""
                yield f"{_target_row(figure, result)}{run}"
    yield "\nWhere the sizes are smaller than the target's, 'met' says so.\n"


def _target_row(figure: Figure, result: dict[str, Any]) -> str:
    value, low, high = (_number(result[k]) for k in ("value", "low", "high"))
    return (
        f"| {figure.what} | {figure.target} | **{value}** {figure.unit} ({low} to {high}) | {result['at']} "
        f"| {result['rounds']}, {result['samples']:,} | {_verdict(result)} |"
    )


def _verdict(result: dict[str, Any]) -> str:
    if result["met"] is None:
        return "–"
    verdict = "yes" if result["met"] else "**no**"
    return verdict if result["whole"] else f"{verdict}, at a smaller size"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _family(family: Family, results: Results, page: Path) -> Iterator[str]:
    there = [(f, results[f.name]) for f in family.figures if f.name in results]
    if not there:
        return
    yield f"## {_TITLES[family.name]}\n"
    yield f"`make bench ONLY={family.name}`\n"
    for figure, result in there:
        for name, under, title, _ in PLOTS:
            if under == figure.name:
                yield f"![{title}]({page.stem}/{name}.svg)\n"
        yield from _table(result["rows"])
        if result["notes"]:
            yield f"{figure.what[:1].upper()}{figure.what[1:]}: {' '.join(result['notes'])}\n"
    limits = dict.fromkeys(
        limit for f, r in there if r["met"] is False and (limit := _limit_of(family, f.name))
    )
    yield from limits


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    columns = [c for c in _COLUMNS if any(c in row for row in rows)]
    yield f"| {' | '.join(_COLUMNS[c][0] for c in columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(row, c) for c in columns)} |"
    yield ""


def _cell(row: dict[str, Any], column: str) -> str:
    if column == "contender":
        name = str(row[column])
        return CONTENDERS.get(name.rpartition("_")[0], name)
    if column not in row:
        return "absent" if row.get("absent") else ""
    text = _COLUMNS[column][1].format(row[column])
    return (
        f"{text} ({row['low']:.2f} to {row['high']:.2f})"
        if column == "ratio" and "low" in row
        else text
    )


def _limit_of(family: Family, figure: str) -> str | None:
    """Return what was written by hand on why the target is out of reach: of the figure, or of its family."""
    for name in (figure, family.name):
        path = LIMITS / f"{name}.md"
        if path.exists():
            return path.read_text()
    return None
