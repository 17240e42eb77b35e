"""Measure the figures: ``python -m bench``."""

from __future__ import annotations

import os
import subprocess
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from bench.registry import FAMILIES, Family, chosen
from bench.render import render
from bench.results import Result, save
from bench.scale import DEFAULT, FULL, QUICK
from bench.world import HERE, ROOT, World, opened


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--full", is_flag=True, help="The sizes of the targets, about an hour.")
@click.option(
    "--quick", is_flag=True, help="Small sizes, about three minutes: that every part runs."
)
@click.option("--only", metavar="NAME,NAME", help="Only these figures or families.")
@click.option(
    "--keep", is_flag=True, help="Put the results of a quick or partial run in the docs, too."
)
@click.option(
    "--render", "only_render", is_flag=True, help="Measure nothing; write the page again."
)
@click.option("--list", "listing", is_flag=True, help="List the figures.")
def main(
    full: bool, quick: bool, only: str | None, keep: bool, only_render: bool, listing: bool
) -> None:
    """Measure pyleases, the floor, the baseline and the peers, and write the figures."""
    if listing:
        _list()
        return
    scale = FULL if full else QUICK if quick else DEFAULT
    try:
        families = chosen([n.strip() for n in only.split(",")] if only else [])
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    whole = keep or not (quick or only)
    results = HERE / "results" if whole else ROOT / "build" / "bench" / "results"
    page = ROOT / "docs" / "figures.md" if whole else ROOT / "build" / "bench" / "figures.md"
    if only_render:
        _render(results, page)
        return
    if not keep:
        _clear(results)
    started = time.monotonic()
    with opened(scale) as world:
        run = _describe(world)
        failed = [f.name for f in families if not _measure(f, world, results, run, started)]
    _render(results, page)
    click.echo(f"{time.monotonic() - started:.0f} s in all")
    if failed:
        raise click.ClickException(f"not measured: {', '.join(failed)}")


def _measure(
    family: Family, world: World, results: Path, run: dict[str, Any], started: float
) -> bool:
    """Measure a family's figures; what goes wrong in one costs an hour's run no other."""
    click.echo(f"{family.name} ({time.monotonic() - started:.0f} s)")
    try:
        for result in family.run(world):
            save(results, result, run)
            _tell(result)
    except Exception:
        traceback.print_exc()
        return False
    return True


def _render(results: Path, page: Path) -> None:
    for figure in render(results, page):
        click.echo(
            f"bench/limits/{figure}.md is missing: the target is not met, and nothing says why"
        )
    click.echo(f"wrote {page.relative_to(ROOT)}")


def _clear(results: Path) -> None:
    for path in results.glob("*.json"):
        path.unlink()


def _describe(world: World) -> dict[str, Any]:
    """Say which run this is, and on what."""
    git = ("git", "-C", str(ROOT))
    commit = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--", "sql", "pyleases", "bench"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "scale": world.scale.name,
        "began": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": (commit or "unknown") + (" and changes" if changed else ""),
        "load": round(os.getloadavg()[0], 1),
        **world.environment(),
    }


def _tell(result: Result) -> None:
    spread = result.spread
    verdict = {True: "met", False: "NOT MET", None: ""}[result.figure.met(spread.value)]
    click.echo(
        f"  {result.figure.name:28} {spread.value:10.3f} {result.figure.unit}  "
        f"[{spread.low:.3f} to {spread.high:.3f}, {spread.rounds} rounds, {result.samples} samples]  "
        f"{result.figure.target}  {verdict}  at {result.at}"
    )


def _list() -> None:
    for family in FAMILIES:
        click.echo(family.name)
        for figure in family.figures:
            click.echo(f"  {figure.name:28} {figure.target:12} {figure.what}")


if __name__ == "__main__":
    main()
