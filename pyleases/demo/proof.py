"""The proof: what the snapshot files hold, against what the planned lists say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
from psycopg.rows import dict_row

from pyleases.demo.tape import Tape, TapeError, by_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyleases.demo.arrivals import Spans

__all__ = ["Proof", "Snapshot", "current_snapshots", "prove"]


@dataclass(frozen=True)
class Snapshot:
    """Which snapshot is a lane's current one, as the database says."""

    group_id: int
    group: str
    lane: str
    snapshot_id: int | None


@dataclass
class Proof:
    """What was looked at, and what was found wrong with it."""

    lanes: int = 0
    articles: int = 0
    seams: int = 0
    by_worker: dict[str, int] = field(default_factory=dict)
    tapes: dict[tuple[str, str], Tape] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether every article was read exactly once and in order."""
        return not self.faults


def current_snapshots(dsn: str) -> list[Snapshot]:
    """Ask which snapshot every lane has now."""
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        rows = connection.execute(
            "select group_id, group_name, lane, snapshot_id from leases.group_status"
            " order by group_name, lane"
        )
        return [
            Snapshot(row["group_id"], row["group_name"], row["lane"], row["snapshot_id"])
            for row in rows
        ]


def prove(
    folder: Path, snapshots: list[Snapshot], spans: Spans, tick: Callable[[], object] = lambda: None
) -> Proof:
    """Read every lane's current snapshot file, and hold it against what was planned."""
    proof = Proof()
    files = _by_number(folder)
    lanes = {(s.group, s.lane): s for s in snapshots}
    for key in sorted(spans.keys() | lanes.keys()):
        tick()
        tape, faults = _tape(lanes.get(key), files)
        span = spans.get(key)
        if span is None:
            faults += ["nothing was planned here"] if tape and tape.runs else []
        elif tape is not None:
            faults += _held_against(tape, key, span)
            proof.tapes[key] = tape
            proof.seams += bool(tape.runs) and tape.runs[0].first != span[0]
            proof.articles += tape.articles
            for worker, articles in by_worker([tape]).items():
                proof.by_worker[worker] = proof.by_worker.get(worker, 0) + articles
        elif not faults:
            faults.append("has no snapshot")
        proof.lanes += span is not None
        proof.faults += [f"{key[0]}, {key[1]}: {fault}" for fault in faults]
    planned = sum(last - first + 1 for first, last in spans.values())
    if proof.articles != planned:
        proof.faults.append(f"{planned} articles were planned, {proof.articles} are on the tapes")
    return proof


def _held_against(tape: Tape, key: tuple[str, str], span: tuple[int, int]) -> Iterator[str]:
    if (tape.group, tape.lane) != key:
        yield f"its snapshot is the tape of {tape.group}, {tape.lane}"
    yield from tape.faults(*span)


def _tape(snapshot: Snapshot | None, files: dict[str, list[Path]]) -> tuple[Tape | None, list[str]]:
    if snapshot is None or snapshot.snapshot_id is None:
        return None, []
    name = f"{snapshot.group_id}-{snapshot.lane}-{snapshot.snapshot_id}"
    found = files.get(name, [])
    if len(found) != 1:
        return None, [f"there are {len(found)} files of its snapshot {name}"]
    try:
        with found[0].open("rb") as body:
            return Tape.load(body), []
    except TapeError as error:
        return None, [f"its snapshot {found[0].name} is no tape: {error}"]


def _by_number(folder: Path) -> dict[str, list[Path]]:
    """Find the files by ``<group id>-<lane>-<snapshot id>``; what comes after is random."""
    files: dict[str, list[Path]] = {}
    for path in folder.iterdir():
        files.setdefault(path.name.rpartition("-")[0], []).append(path)
    return files
