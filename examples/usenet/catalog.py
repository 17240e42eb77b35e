"""The catalog: the complete posts, in a table of the same database."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

import pyleases
from examples.usenet.window import Post

SCHEMA = """
create schema if not exists usenet;
create table if not exists usenet.posts (
    group_name text not null,
    post_id uuid not null, -- made of the numbers of its parts: the same post written again is the same row
    lane text not null,
    lease_id bigint not null, -- who wrote it first
    poster text not null,
    name text not null,
    numbers bigint[] not null, -- of its articles, in the order of the parts
    message_ids text[] not null,
    primary key (group_name, post_id)
);
create table if not exists usenet.room (cap_bytes bigint not null); -- how large the catalog may grow: one row
"""
_WRITE = """
insert into usenet.posts (group_name, post_id, lane, lease_id, poster, name, numbers, message_ids)
values (%s, %s, %s, %s, %s, %s, %s, %s)
on conflict (group_name, post_id) do nothing
"""
_SIZE = "select pg_total_relation_size('usenet.posts'), (select cap_bytes from usenet.room)"


class Catalog:
    """Writes posts, and tells how large the table is."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)

    def write(self, lease: pyleases.Lease, posts: Sequence[Post]) -> int:
        """Write posts, all or none; return how many were not there yet."""
        if not posts:
            return 0
        who = lease.lane, lease.lease_id
        rows = [
            (
                lease.group_name,
                p.post_id,
                *who,
                p.poster,
                p.name,
                list(p.numbers),
                list(p.message_ids),
            )
            for p in posts
        ]
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(_WRITE, rows)
            return cursor.rowcount

    def report(self, leases: pyleases.Leases) -> None:
        """Tell pyleases how full the catalog is: at its cap, no history is handed out."""
        row = self._connection.execute(_SIZE).fetchone()
        if row and row[1] is not None:
            leases.report_catalog(used_bytes=row[0], cap_bytes=row[1])
