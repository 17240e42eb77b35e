"""``pyleases status``: what every lane, and every group that is held, is at."""

from __future__ import annotations

from typing import Any

import click
import psycopg
from psycopg.rows import dict_row
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pyleases.commands.options import dsn_option
from pyleases.text import printable

_LANES = ("open", "held", "quiet", "waiting", "articles offered", "parked")
_GROUPS = ("group", "lane", "node", "heard", "moved", "articles offered", "snapshot at")


@click.command()
@dsn_option
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="Held groups, at most.",
)
def status(dsn: str, limit: int) -> None:
    """Show the lanes, and the groups that are held, those that have not moved for longest first."""
    console = Console(highlight=False)
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        lanes = connection.execute("select * from leases.lane_status order by lane").fetchall()
        groups = connection.execute(
            "select * from leases.group_status where lease_id is not null"
            " order by moved_at limit %s",
            [limit],
        ).fetchall()
    console.print(_lanes(lanes))
    if groups:
        console.print(_groups(groups))


def _shown(name: str) -> str:
    """Make a name from the database no markup and nothing that a terminal obeys."""
    return escape(printable(name))


def _lanes(rows: list[dict[str, Any]]) -> Table:
    table = Table("lane", title="lanes")
    for title in _LANES:
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            _shown(row["lane"]),
            "yes" if row["is_open"] else _shown(f"no: {row['closed_because']}"),
            *(
                f"{row[name]:,}"
                for name in (
                    *("groups_held", "groups_quiet", "groups_waiting"),
                    *("articles_offered", "ranges_parked"),
                )
            ),
        )
    return table


def _groups(rows: list[dict[str, Any]]) -> Table:
    table = Table(*_GROUPS, title="held groups")
    for row in rows:
        table.add_row(
            _shown(row["group_name"]),
            _shown(row["lane"]),
            _shown(row["node_name"] or "") + (" (quiet)" if row["quiet"] else ""),
            f"{row['heard_at']:%Y-%m-%d %H:%M:%S}" if row["heard_at"] else "",
            f"{row['moved_at']:%Y-%m-%d %H:%M:%S}" if row["moved_at"] else "",
            f"{row['articles_offered']:,}",
            str(row["snapshot_next"] if row["snapshot_next"] is not None else ""),
        )
    return table
