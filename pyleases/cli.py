"""The command line: ``pyleases migrate``, ``plan``, ``sweep``, ``status``, ``demo``."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import click
import psycopg

from pyleases.migrate import MigrationError, MigrationReport
from pyleases.text import printable

__all__ = ["main"]

_COMMANDS = ("migrate", "plan", "sweep", "status", "demo")


class _Commands(click.Group):
    """Imports a command's module when it is asked for, and shows a database's error as one."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS or cmd_name in self.commands:
            return self.commands.get(cmd_name)
        found = getattr(importlib.import_module(f"pyleases.commands.{cmd_name}"), cmd_name)
        return found if isinstance(found, click.Command) else None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (psycopg.Error, MigrationError) as error:
            raise click.ClickException(_explain(error)) from error


def _explain(error: Exception) -> str:
    """Tell the error with what the server said of it, and nothing that a terminal obeys."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    if not isinstance(error, psycopg.Error) or primary is None:
        said = str(error).strip().splitlines()
        return "\n".join([*map(printable, said), *getattr(error, "__notes__", [])])
    diag = error.diag
    lines = [f"{printable(primary)} ({error.sqlstate})"]
    lines += [
        f"{name}: {printable(text)}"
        for name, text in (("detail", diag.message_detail), ("hint", diag.message_hint))
        if text
    ]
    if error.sqlstate in ("3F000", "42883", "42P01"):
        lines.append("hint: has `pyleases migrate` been run on this database?")
    return "\n".join([*lines, *getattr(error, "__notes__", [])])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pyleases")
@click.option(
    "--dsn",
    help="The database, as a libpq connection string or URI; else PYLEASES_DSN, else libpq's environment.",
)
@click.option(
    "--snapshots",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the snapshot files; else PYLEASES_SNAPSHOTS.",
)
def main(dsn: str | None, snapshots: Path | None) -> None:
    """Leases on ordered ranges of numbered logs, in PostgreSQL."""
    # The commands have both options themselves; given here, they stand in for the environment.
    if dsn is not None:
        os.environ["PYLEASES_DSN"] = dsn
    if snapshots is not None:
        os.environ["PYLEASES_SNAPSHOTS"] = str(snapshots)


@main.command()
@click.option(
    "--dsn",
    envvar="PYLEASES_DSN",
    show_envvar=True,
    default="",
    help="The database, as a libpq connection string or URI; else libpq's own environment.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=120,
    show_default=True,
    help="Seconds to go on trying while something else holds the locks.",
)
def migrate(dsn: str, timeout: float) -> None:
    """Bring the database up to this version, whole or not at all.

    It may run while workers work, from several places at once, and any number of times.
    """
    from pyleases.migrate import migrate as run

    _tell(run(dsn, timeout=timeout))


def _tell(report: MigrationReport) -> None:
    for migration in report.migrations:
        click.echo(f"applied migration {migration}")
    if report.files:
        click.echo(f"applied {len(report.files)} function files")
    for dropped in report.dropped:
        click.echo(f"dropped {dropped}")
    for path in report.altered:
        click.echo(
            f"warning: {path} has changed since it was applied; it is not run again", err=True
        )
    if not report.changed:
        click.echo("nothing to do")
