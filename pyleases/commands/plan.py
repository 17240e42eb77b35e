"""``pyleases plan``: plan the groups of a news server's list."""

from __future__ import annotations

from typing import BinaryIO

import click
from rich.console import Console

import pyleases
from pyleases.active import ActiveList, PlanReport, plan_active, read_active
from pyleases.commands.options import dsn_option

_MOST_SHOWN = 100  # malformed lines


@click.command()
@dsn_option
@click.option(
    "--active",
    "file",
    type=click.File("rb"),
    required=True,
    help="The server's answer to LIST ACTIVE; - for standard input.",
)
@click.option(
    "--size",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Articles in a range, at most.",
)
@click.option(
    "--priority",
    type=int,
    default=50,
    show_default=True,
    help="Of what is there when a group is first seen.",
)
@click.option(
    "--tail-priority",
    type=int,
    default=10,
    show_default=True,
    help="Of what has come since.",
)
@click.option(
    "--tail-from",
    "tail_last",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Count the last N articles of a group that is first seen as having come since.",
)
def plan(
    dsn: str, file: BinaryIO, size: int, priority: int, tail_priority: int, tail_last: int
) -> None:
    """Plan the groups that a news server lists.

    What a group has when it is first seen is history; what is new since the last run goes to
    the tail. Running it again plans only what is new. Either the whole list is planned or nothing.
    """
    active = read_active(file)
    _show_malformed(active)
    if active.malformed and not active.groups:
        raise click.ClickException("no line of it lists a group; is it a LIST ACTIVE answer?")
    with (
        Console(stderr=True).status(f"planning {len(active.groups):,} groups"),
        pyleases.connect(dsn) as leases,
    ):
        report = plan_active(
            leases,
            active,
            priority=priority,
            tail_priority=tail_priority,
            tail_last=tail_last,
            size=size,
        )
        lanes = leases.lane_of(priority), leases.lane_of(tail_priority)
    _show(active, report, *lanes)


def _show_malformed(active: ActiveList) -> None:
    for bad in active.malformed[:_MOST_SHOWN]:
        click.echo(f"line {bad.line}: {bad.reason}: {bad.text}", err=True)
    if len(active.malformed) > _MOST_SHOWN:
        click.echo(f"and {len(active.malformed) - _MOST_SHOWN:,} more malformed lines", err=True)


def _show(active: ActiveList, report: PlanReport, history: str | None, tail: str | None) -> None:
    click.echo(
        f"groups: {len(active.groups):,} listed, {report.new_groups:,} new, "
        f"{report.known_groups:,} known, {active.empty:,} empty"
    )
    click.echo(f"malformed lines: {len(active.malformed):,}")
    click.echo(
        f"articles planned: {report.history_articles:,} history (lane {history}), "
        f"{report.tail_articles:,} tail (lane {tail})"
    )
