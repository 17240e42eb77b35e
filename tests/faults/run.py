"""``make faults``: every kind of fault alone, all together, and the figures written into the docs."""

from __future__ import annotations

import os
import platform
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from pyleases.devserver import DevServer, server
from tests.faults.kinds import ALONE, TOGETHER
from tests.faults.play import Fault, play
from tests.faults.result import Result
from tests.faults.world import Size

_DOC = Path(__file__).parents[2] / "docs" / "reliability.md"
_BEGIN, _END = "<!-- made by make faults: begin -->", "<!-- made by make faults: end -->"
_HEAD = ("run", "faults", "calls", "unanswered", "articles", "read again", "lost", "repeated")


@click.command()
@click.option(
    "--seconds", type=float, default=30, show_default=True, help="Of faults, in each run."
)
@click.option("--seed", type=int, help="The first seed; else one at random.")
@click.option("--seeds", type=int, default=1, show_default=True, help="How many seeds, one by one.")
@click.option("--only", help="Only this run, and nothing is written.")
def main(seconds: float, seed: int | None, seeds: int, only: str | None) -> None:
    """Play all runs with one seed after the other; stop at the first in which anything is wrong."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # taking all processes along
    console = Console(highlight=False, soft_wrap=True)
    began = time.monotonic()
    first = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    results: list[Result] = []
    for number in range(first, first + seeds):
        console.print(f"seed {number}")
        size = Size(seconds, number)
        for name, kinds in _runs(console):
            if only in (None, name):
                result = _play(name, kinds, size, console)
                results.append(result)
        if only is None:
            minutes = (time.monotonic() - began) / 60
            command = f"make faults SECONDS={seconds:g} SEED={first} SEEDS={number - first + 1}"
            _write(_report(results, f"{command}`, {minutes:.0f} minutes"))


def _runs(console: Console) -> Iterable[tuple[str, list[Fault]]]:
    """Make the kinds anew for each run, leaving out what can't be done here."""
    for kind in ALONE:
        if kind().lacks():
            console.print(f"{kind.name}: left out, {kind().lacks()}")
        else:
            yield kind.name, [kind()]
    yield "all together", [kind() for kind in TOGETHER if not kind().lacks()]


def _play(name: str, kinds: Sequence[Fault], size: Size, console: Console) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="pyleases-faults-"))
    result = play(name, kinds, size, folder)
    console.print(
        f"  {name}: {result.faults.total()} faults, {result.calls:,} calls, {result.planned:,} articles,"
        f" {result.read_again:,} read again, {result.lost} lost, {result.repeated} repeated,"
        f" {result.seconds:.0f} s"
    )
    if result.wrong:
        console.print("\n".join(result.wrong[:50]))
        raise click.ClickException(
            f"{name} went wrong with seed {size.seed}; its files are in {folder}"
        )
    shutil.rmtree(folder)
    return result


def _report(results: Sequence[Result], command: str) -> str:
    """Put the sums of each run over all seeds in a table, and what was done in another."""
    sums: dict[str, Result] = {}
    for result in results:
        sums[result.name] = _add(sums[result.name], result) if result.name in sums else result
    rows = [_HEAD, ("---", *["---:"] * (len(_HEAD) - 1))]
    rows += [_row(name, result) for name, result in sums.items()]
    rows.append(_row("**all**", _total(sums.values())))
    done: Counter[str] = Counter()
    for result in sums.values():
        done += result.faults
    lines = [
        _BEGIN,
        "",
        f"`{command}, {time.strftime('%Y-%m-%d')}; {_machine()}.",
        "",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        "| what was done | times |",
        "| --- | ---: |",
        *(f"| {what} | {times:,} |" for what, times in sorted(done.items())),
        "",
        _END,
    ]
    return "\n".join(lines)


def _total(results: Iterable[Result]) -> Result:
    total = Result("", 0)
    for result in results:
        total = _add(total, result)
    return total


def _add(one: Result, other: Result) -> Result:
    fields = ("calls", "unanswered", "read", "planned", "lost", "repeated", "seconds")
    return replace(
        one,
        faults=one.faults + other.faults,
        **{name: getattr(one, name) + getattr(other, name) for name in fields},
    )


def _row(name: str, result: Result) -> tuple[str, ...]:
    numbers = (
        *(result.faults.total(), result.calls, result.unanswered, result.planned),
        *(result.read_again, result.lost, result.repeated),
    )
    return (name, *(f"{number:,}" for number in numbers))


def _machine() -> str:
    with server() as running:
        version = _version_of(running)
    return f"PostgreSQL {version}, Python {platform.python_version()}, {os.cpu_count()} cores"


def _version_of(running: DevServer) -> str:
    return running.run("postgres", "--version").split()[2]


def _write(report: str) -> None:
    text = _DOC.read_text("utf-8")
    before, _, rest = text.partition(_BEGIN)
    _DOC.write_text(before + report + rest.partition(_END)[2], "utf-8")


if __name__ == "__main__":
    main()
