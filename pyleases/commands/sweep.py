"""``pyleases sweep``: delete stale snapshot files, and only those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import pyleases
from pyleases.commands.options import dsn_option, snapshots_option
from pyleases.sweep import sweep as sweep_snapshots

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@dsn_option
@snapshots_option
def sweep(dsn: str, snapshots: Path) -> None:
    """Delete the snapshot files that no lane needs any more.

    Current, kept and pending snapshots stay, and so does whatever is not named like a snapshot.
    A file that the database does not know goes once it is a day old.
    """
    with pyleases.connect(dsn, snapshots=snapshots) as leases:
        report = sweep_snapshots(leases)
    click.echo(str(report))
    if report.failed:
        raise SystemExit(1)
