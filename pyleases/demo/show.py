"""Prints how the demo went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from pyleases.demo.arrivals import HISTORY, TAIL
from pyleases.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from pyleases.demo.direct import Outcome

__all__ = ["show"]

_MOST_FAULTS = 50


def show(outcome: Outcome, console: Console) -> None:
    """Print who did what, what was done to whom, and what was proved."""
    console.print(_workers(outcome))
    console.print(_takeovers(outcome))
    proof = outcome.proof
    read = sum(w.read for w in outcome.workers)
    console.print(
        f"snapshot files read: {proof.lanes:,}; stale ones swept before: {outcome.swept:,}"
    )
    console.print(f"articles read again after a takeover: {max(0, read - proof.articles):,}")
    console.print(f"seams: {proof.seams or 'none'}")
    for fault in proof.faults[:_MOST_FAULTS]:
        console.print(f"[red]fault[/red]: {escape(printable(fault))}", soft_wrap=True)
    if len(proof.faults) > _MOST_FAULTS:
        console.print(f"and {len(proof.faults) - _MOST_FAULTS:,} more faults")
    if proof.holds:
        console.print(
            f"[green]proved[/green]: {proof.articles:,} articles in {proof.lanes:,} lanes, "
            f"each read exactly once and in order ({outcome.seconds:.0f} s)",
            soft_wrap=True,
        )
    else:
        console.print(f"[red]not proved[/red]: {len(proof.faults):,} faults", soft_wrap=True)


def _workers(outcome: Outcome) -> Table:
    table = Table(title="who did what", box=box.SIMPLE_HEAD)
    table.add_column("worker", no_wrap=True)
    for title in (
        "leases tail",
        "leases history",
        "ranges read",
        "articles read",
        "on the tapes",
        "snap- shots",
        "refused calls",
    ):
        table.add_column(title, justify="right", overflow="fold")
    on_tapes = outcome.proof.by_worker
    for w in outcome.workers:
        figures = (
            *(w.leases[TAIL], w.leases[HISTORY], w.ranges, w.read),
            *(on_tapes.get(w.name, 0), w.snapshots, w.refused),
        )
        name = f"{w.name} {w.fate}".rstrip()
        table.add_row(name, *(f"{figure:,}" for figure in figures))
    return table


def _takeovers(outcome: Outcome) -> Table:
    table = Table(title="takeovers", box=box.SIMPLE_HEAD)
    table.add_column("lane", overflow="fold")
    for title in ("from", "lease", "what happened", "taken by", "lease"):
        table.add_column(title, overflow="fold")
    for h in outcome.harms:
        table.add_row(
            f"{escape(printable(h.group))}, {h.lane}",
            *(h.worker, str(h.lease_id), h.what, h.taken_by, str(h.taken_with)),
        )
    return table
