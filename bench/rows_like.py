"""The rows that plan_ranges writes, written by a plain INSERT into a table without our triggers and guard."""

from __future__ import annotations

from psycopg import sql

from bench.world import Database

__all__ = ["make_plain", "plain_insert"]

PLAIN = sql.Identifier("bench", "plain")


def make_plain(database: Database) -> None:
    """Make ``bench.plain``: the columns, constraints and indexes of ``leases.ranges``, and no triggers."""
    database.run("create schema if not exists bench")
    database.run("create table bench.plain (like leases.ranges including all)")


def plain_insert(database: Database) -> bytes:
    """Return an INSERT of the rows that plan_ranges makes of articles ``%s..%s`` of a group, one article a range.

    Each column has what a planned range of priority 50 has, looked up in one that was planned.
    """
    with database.connect(autocommit=False) as connection:
        group_id = connection.execute("select leases.add_group(name => 'a sample')").fetchone()
        if group_id is None:
            raise RuntimeError("no group was added")
        connection.execute("select leases.plan_ranges(%s, 7, 7, 50, size => 1)", group_id)
        found = connection.execute(
            """select a.attname, to_jsonb(r) ->> a.attname from leases.ranges as r, pg_attribute as a
            where r.group_id = %s and a.attrelid = 'leases.ranges'::regclass and a.attnum > 0
                and not a.attisdropped and a.attidentity = '' and a.attgenerated = '' order by a.attnum""",
            group_id,
        ).fetchall()
        connection.rollback()
    special = {"start_id": "n", "end_id": "n", "next_id": "n", "group_id": "%s::bigint"}
    columns = [name for name, value in found if value is not None]
    values = [
        sql.SQL(special[name]) if name in special else sql.Literal(value)
        for name, value in found
        if value is not None
    ]
    return (
        sql.SQL("insert into {} ({}) select {} from generate_series(%s::bigint, %s::bigint) as n")
        .format(PLAIN, sql.SQL(", ").join(map(sql.Identifier, columns)), sql.SQL(", ").join(values))
        .as_bytes(None)
    )
