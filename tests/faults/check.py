"""What has to be so once all is drained, whatever was done to it."""

from __future__ import annotations

import collections
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import xxhash

from pyleases.demo.arrivals import Spans
from pyleases.demo.proof import Proof, current_snapshots, prove
from pyleases.demo.worker import history_of
from pyleases.snapshots import Name

_DIGESTS = {"xxh3_128": xxhash.xxh3_128, "sha256": hashlib.sha256}
# Deadlocks, what a worker that keeps the contract is never told, broken data, PostgreSQL's own bugs.
_BAD_STATES = ("40P01", "LS002", "LS003", "LS004", "LS005", "22", "23", "42", "XX")

_COUNTS = """
with truth as (
    select r.group_id, coalesce(r.lane, '') as lane,
        count(*) filter (where r.status = 'planned') as ranges_planned,
        coalesce(sum(r.end_id + 1 - r.next_id) filter (where r.status = 'planned'), 0) as articles_planned,
        count(*) filter (where r.status = 'parked') as ranges_parked,
        count(*) filter (where r.status = 'done') as ranges_done,
        coalesce(sum(r.headers) filter (where r.status = 'done'), 0) as headers
    from leases.ranges as r group by 1, 2
)
select g.group_name, g.lane, to_jsonb(t) as truth, to_jsonb(g) as shown
from leases.group_status as g
full join truth as t on t.group_id = g.group_id and t.lane = g.lane
where (g.ranges_planned, g.articles_planned, g.ranges_offered, g.articles_offered, g.ranges_parked, g.ranges_done,
        g.headers)
    is distinct from (t.ranges_planned, t.articles_planned, t.ranges_planned, t.articles_planned, t.ranges_parked,
        t.ranges_done, t.headers)
"""


def proof_of(dsn: str, snapshots: Path, spans: Spans) -> Proof:
    """Follow each lane's tape, and hold it against what was planned."""
    return prove(snapshots, current_snapshots(dsn), spans)


def wrong_counts(db: psycopg.Connection[Any]) -> Iterator[str]:
    """Tell where group_status differs from the ranges; nothing is held any more."""
    for row in db.execute(_COUNTS).fetchall():
        yield f"{row['group_name']}, {row['lane']}: shown {row['shown']}, true {row['truth']}"


def wrong_files(db: psycopg.Connection[Any], snapshots: Path, harmed: set[str]) -> Iterator[str]:
    """Tell which files are missing or not what was written, and which nothing lists."""
    rows = db.execute("select file, status, bytes, checksum from leases.snapshots").fetchall()
    for row in rows:
        if row["status"] == "kept" and row["file"] not in harmed:
            flaw = _flaw(snapshots / row["file"], row["bytes"], row["checksum"])
            if flaw:
                yield f"{row['file']} {flaw}"
        elif row["status"] in ("pending", "stale", "aborted"):
            yield f"{row['file']} is {row['status']} still"
    listed = {row["file"] for row in rows if row["status"] == "kept"}
    for name in sorted({path.name for path in snapshots.iterdir()} - listed):
        if Name.of(name):
            yield f"{name} is listed by nothing"


def _flaw(path: Path, size: int, checksum: str) -> str | None:
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return "is missing"
    kind, _, digest = checksum.partition(":")
    if len(body) != size or _DIGESTS[kind](body).hexdigest() != digest:
        return "is not what was written"
    return None


def two_holders(journals: list[Path]) -> Iterator[str]:
    """Tell where a lease was still answered after a later one of its lane had been granted."""
    granted: dict[tuple[int, str], dict[int, float]] = collections.defaultdict(dict)
    heard: dict[tuple[int, str], dict[int, float]] = collections.defaultdict(dict)
    for journal in journals:
        for event in history_of(journal):
            if event["did"] == "lease":
                lane = granted[event["group"], event["lane"]]
                if event["lease"] in lane:
                    yield f"lease {event['lease']} was granted twice"
                lane[event["lease"]] = event["at"]
            elif event["did"] == "read":
                leases = heard[event["group"], event["lane"]]
                last = leases.get(event["lease"], 0.0)
                leases[event["lease"]] = max(last, event["heard"])
    for key, leases in granted.items():
        earliest = float("inf")  # answer of any later grant of the lane
        for lease in sorted(leases, reverse=True):
            if heard[key].get(lease, 0.0) > earliest:
                yield f"{key}: lease {lease} was answered after a later one was granted"
            earliest = min(earliest, leases[lease])


def bad_log(text: str) -> Iterator[str]:
    """Tell what the server's log should not have. Each line has the SQLSTATE after the process."""
    for line in text.splitlines():
        match = re.search(r"\[\d+\] ([0-9A-Z]{5}) (ERROR|FATAL|PANIC): .*", line)
        if match and (match[1].startswith(_BAD_STATES) or match[2] == "PANIC"):
            yield f"in the server's log: {match[0]}"


def states(text: str) -> dict[str, int]:
    """Count the SQLSTATEs of errors in the server's log."""
    found = re.findall(r"\[\d+\] ([0-9A-Z]{5}) (?:ERROR|FATAL|PANIC): ", text)
    return dict(sorted(collections.Counter(found).items()))
