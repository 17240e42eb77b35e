"""What PostgreSQL counts: rows written, dead rows left, bytes of WAL."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.world import Database

__all__ = ["Counters", "counted"]


@dataclass(frozen=True)
class Counters:
    """Counts of one schema's tables, and of the server's WAL."""

    inserted: int
    updated: int
    updated_hot: int
    deleted: int
    wal_bytes: int
    wal_images: int

    @property
    def dead(self) -> int:
        """Rows that vacuum has to take away: every update and delete leaves one."""
        return self.updated + self.deleted

    def __sub__(self, other: Counters) -> Counters:
        mine, others = vars(self), vars(other)
        return Counters(**{name: mine[name] - others[name] for name in mine})


def counted(database: Database, schema: str) -> Counters:
    """Return the counts as they stand; those of processes that have ended are in."""
    database.run("select pg_stat_force_next_flush()")
    time.sleep(0.3)  # what a process counted is there shortly after it ended
    rows = database.run(
        """select coalesce(sum(n_tup_ins), 0)::bigint, coalesce(sum(n_tup_upd), 0)::bigint,
            coalesce(sum(n_tup_hot_upd), 0)::bigint, coalesce(sum(n_tup_del), 0)::bigint,
            (pg_current_wal_insert_lsn() - '0/0')::bigint, (select wal_fpi from pg_stat_wal)
        from pg_stat_user_tables where schemaname = %s""",
        schema,
    )
    return Counters(*rows[0])
