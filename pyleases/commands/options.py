"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

dsn_option = click.option(
    "--dsn",
    envvar="PYLEASES_DSN",
    show_envvar=True,
    default="",
    help="The database, as a libpq connection string or URI; else libpq's own environment.",
)

snapshots_option = click.option(
    "--snapshots",
    envvar="PYLEASES_SNAPSHOTS",
    show_envvar=True,
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the snapshot files.",
)
