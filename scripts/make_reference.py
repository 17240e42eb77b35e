"""Write docs/reference.md from the comments of a migrated database.

With --check it writes nothing, and fails where the file is not what would be written.
"""

import argparse
import inspect
import re
import sys
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from pyleases import errors
from pyleases.devserver import server
from pyleases.migrate import migrate

REFERENCE = Path(__file__).parents[1] / "docs" / "reference.md"

AUDIENCES = {
    "leases_worker": ("Workers", "Granted to `leases_worker`."),
    "leases_planner": ("Planners", "Granted to `leases_planner`."),
    "leases_admin": (
        "Administrators",
        "Granted to `leases_admin`, which is a member of the other three roles and so may call "
        "all that is on this page.",
    ),
    "leases_monitor": ("Looking", "Granted to `leases_monitor`, as the views below are."),
}
VIEWS = ("group_status", "range_status", "lane_status")
TABLES = ("groups", "nodes", "ranges")

# The standard ones that the functions, the triggers and the tables raise, and when.
STANDARD = {
    "22023": "Arguments that make no sense.",
    "42501": "The caller's role may not do this, or the node belongs to another role.",
    "55006": "Plain SQL on a range that a holder's window has.",
    "0A000": "A `TRUNCATE` of `leases.ranges`.",
    "40001": "The call ran at REPEATABLE READ or SERIALIZABLE and what it read is out of date. "
    "Nothing was changed: repeat the transaction.",
    "23514": "A setting, name or range that a table's check refuses.",
    "23P01": "Bands of lanes that overlap.",
}

FUNCTIONS = """
select p.proname as name, pg_get_function_arguments(p.oid) as arguments, p.proretset as is_set, p.prorows as rows,
    t.typtype = 'c' as is_row, format_type(t.oid, null) as type, obj_description(p.oid, 'pg_proc') as comment,
    (select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
     from pg_attribute as a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped) as columns,
    (select array_agg(g.grantee::regrole::text order by g.grantee::regrole::text) from aclexplode(p.proacl) as g
     where g.grantee <> p.proowner and g.grantee <> 0) as roles
from pg_proc as p
join pg_type as t on t.oid = p.prorettype
where p.pronamespace = 'leases'::regnamespace and p.proname !~ '^_'
order by p.proname
"""

COLUMNS = """
select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
    col_description(a.attrelid, a.attnum) as comment,
    pg_get_expr(d.adbin, d.adrelid) as initial, obj_description(a.attrelid, 'pg_class') as of_relation
from pg_attribute as a
left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum and a.attidentity = ''
where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""


def reference(connection):
    """Return the whole page."""
    parts = [
        "# Reference",
        "Made by `scripts/make_reference.py` from the comments in the database: change those, then run it.\n"
        "Rules such as `S3` are those of the contract; [design.md](design.md) says how they are kept.",
        "Call functions with named arguments: `leases.lease_group(node_id => 7)`. `row?` is one row or none: "
        "call those as\n`select * from leases.next_range(lease_id => 1)`. Each is one transaction's worth of work.",
        *functions(connection),
        "## Views",
        *(part for view in VIEWS for part in relation(connection, view)),
        *settings(connection),
        "## Tables for plain SQL",
        "Administrators read and write these. What is refused, and why, is in "
        "[operating.md](operating.md#plain-sql-on-the-tables).",
        *(part for table in TABLES for part in relation(connection, table)),
        *sqlstates(),
    ]
    return "\n\n".join(parts) + "\n"


def functions(connection):
    """Tell the functions, under the first audience that each is granted to."""
    rows = connection.execute(FUNCTIONS).fetchall()
    for role, (title, about) in AUDIENCES.items():
        yield f"## {title}"
        yield about
        for row in rows:
            granted = [r for r in AUDIENCES if r in (row["roles"] or ())]
            if not granted or granted[0] != role:
                continue
            yield f"### {row['name']}"
            yield f"```\nleases.{row['name']}({plain(row['arguments'])})\n```"
            yield f"Result: {result(row)}."
            yield row["comment"]
            if granted[1:]:
                yield "Also granted to " + " and ".join(f"`{r}`" for r in granted[1:]) + "."


def result(row):
    """Tell what a function returns, in the contract's words."""
    if row["is_row"]:
        kind = "row" if not row["is_set"] else "row?" if row["rows"] == 1 else "rows"
        return f"{kind} `({row['columns']})`"
    if row["type"] == "void":
        return "nothing"
    return f"rows of `{row['type']}`" if row["is_set"] else f"`{row['type']}`"


def relation(connection, name):
    """Tell a view or table, a line a column."""
    rows = connection.execute(COLUMNS, [f"leases.{name}"]).fetchall()
    yield f"### leases.{name}"
    if rows[0]["of_relation"]:
        yield rows[0]["of_relation"]
    yield table(("column", "type", ""), ((f"`{r['name']}`", r["type"], r["comment"]) for r in rows))


def settings(connection):
    """Tell the settings: the columns of leases.lanes and what a new lane has in them."""
    rows = connection.execute(COLUMNS, ["leases.lanes"]).fetchall()
    yield "## Settings"
    yield rows[0]["of_relation"] or "The columns of `leases.lanes`, a row a lane."
    yield table(
        ("setting", "type", "of a new lane", ""),
        (
            (f"`{r['name']}`", r["type"], f"`{plain(r['initial'] or 'null')}`", r["comment"])
            for r in rows
        ),
    )


def sqlstates():
    """Tell the SQLSTATEs and what psycopg raises for them."""
    own = sorted(
        (cls.sqlstate, snake(name), f"pyleases.{name}", inspect.getdoc(cls).split("\n")[0])
        for name, cls in inspect.getmembers(errors, inspect.isclass)
        if getattr(cls, "sqlstate", None)
    )
    standard = [
        (code, snake(cls.__name__), f"psycopg.errors.{cls.__name__}", when)
        for code, when in STANDARD.items()
        for cls in [psycopg.errors.lookup(code)]
    ]
    yield "## SQLSTATEs"
    yield (
        "Errors that functions raise have a DETAIL with the values and a HINT with what to do now. In Python they "
        "are\n`error.diag.message_detail` and `error.diag.message_hint`."
    )
    yield table(
        ("SQLSTATE", "name", "in Python", "when"),
        ((f"`{code}`", f"`{name}`", f"`{python}`", w) for code, name, python, w in own + standard),
    )
    yield (
        "`SnapshotMissing` and `SnapshotCorrupt` have no SQLSTATE: they are about files, which the database never "
        "sees. Both derive\nfrom `SnapshotUnusable`, and all of the package's own errors from `LeasesError`."
    )


def plain(expression):
    """Leave out the casts of a default."""
    return re.sub(r"::[a-z]+", "", expression)


def snake(name):
    """LeaseLost: lease_lost."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def table(titles, rows):
    """Return a Markdown table."""
    lines = ["| " + " | ".join(titles) + " |", "| " + " | ".join("---" for _ in titles) + " |"]
    lines += [
        "| " + " | ".join((cell or "").replace("|", "\\|") for cell in row) + " |" for row in rows
    ]
    return "\n".join(line.replace("|  |", "| |") for line in lines)


def main():
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    check = parser.parse_args().check
    with server() as own:
        migrate(own.dsn())
        with psycopg.connect(own.dsn(), row_factory=dict_row) as connection:
            page = reference(connection)
    if not check:
        REFERENCE.write_text(page, encoding="utf-8")
    elif not REFERENCE.exists() or REFERENCE.read_text("utf-8") != page:
        sys.exit("docs/reference.md is out of date: run scripts/make_reference.py")


if __name__ == "__main__":
    main()
