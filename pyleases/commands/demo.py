"""``pyleases demo``: the main job, its accidents and its proof."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import psycopg
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pyleases.demo import DemoError, Settings, run_demo, show
from pyleases.devserver import DevServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXAMPLES = (  # in an installed package, in a checkout
    Path(__file__).parents[1] / "demo" / "demo.active",
    Path(__file__).parents[2] / "examples" / "demo.active",
)


@click.command()
@click.option(
    "--dsn",
    envvar="PYLEASES_DSN",
    show_envvar=True,
    help="A server to make the demo's own, fresh database on; else one is started.",
)
@click.option(
    "--active",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A news server's answer to LIST ACTIVE; else a small example.",
)
@click.option(
    "--workers", type=click.IntRange(2, 64), default=4, show_default=True, help="Worker processes."
)
@click.option("--size", type=click.IntRange(min=1), help="Articles in a range, at most.")
@click.option(
    "--ttl",
    type=click.FloatRange(min=0.5),
    default=3.0,
    show_default=True,
    help="Seconds after which a silent worker's group is taken.",
)
@click.option("--seed", type=int, default=1, help="Of where new articles arrive.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="An empty folder for the snapshots, lists and journals; else all goes at the end.",
)
def demo(
    dsn: str | None,
    active: Path | None,
    workers: int,
    size: int | None,
    ttl: float,
    seed: int,
    keep: Path | None,
) -> None:
    """Index a news server's groups with several processes, harm two, and prove the result."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    with _folder(keep) as folder, _bar(console) as progress:
        task = progress.add_task("starting", total=None)
        settings = Settings(active or _example(), folder, dsn, workers, size, ttl, seed)
        try:
            outcome = run_demo(
                settings,
                lambda doing, done, planned: progress.update(
                    task, description=doing, completed=done, total=planned
                ),
            )
        except (DemoError, DevServerError, psycopg.Error) as error:
            raise click.ClickException(str(error)) from error
    show(outcome, console)
    if not outcome.proof.holds:
        raise SystemExit(1)


def _example() -> Path:
    for path in _EXAMPLES:
        if path.is_file():
            return path
    raise click.ClickException("the example is missing; name a list with --active")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        if any(keep.iterdir()):
            raise click.BadParameter("the folder is not empty", param_hint="--keep")
        yield keep
        return
    folder = Path(tempfile.mkdtemp(prefix="pyleases-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
