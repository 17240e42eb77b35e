"""Run plpgsql_check over every PL/pgSQL function of a migrated database.

It finds what PostgreSQL itself tells only when a line is reached: columns and types that are not there,
locals nobody reads. The extension comes with the server's packages (postgresql-15-plpgsql-check); without
it this fails, unless told --if-there.
"""

import sys

import psycopg

from pyleases.devserver import server
from pyleases.migrate import migrate

CHECK = """
select p.oid::regprocedure::text || coalesce(' on ' || t.tgrelid::regclass::text, ''), c.level, c.message,
       c.lineno, c.detail, c.hint
from pg_proc p
join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
left join pg_trigger t on t.tgfoid = p.oid and not t.tgisinternal
cross join lateral ( -- a function of several triggers looks at tg_op before it touches either table
    select max(tgoldtable::text)::name as old_rows, max(tgnewtable::text)::name as new_rows
    from pg_trigger where tgfoid = p.oid
) n
cross join lateral plpgsql_check_function_tb(
    p.oid, coalesce(t.tgrelid, 0), oldtable => n.old_rows, newtable => n.new_rows, performance_warnings => false
) c
where p.pronamespace = 'leases'::regnamespace
order by 1, c.lineno
"""

with server() as own:
    migrate(own.dsn())
    with psycopg.connect(own.dsn(), autocommit=True) as connection:
        there = connection.execute(
            "select from pg_available_extensions where name = 'plpgsql_check'"
        ).fetchone()
        if there is None:
            sys.stderr.write(
                f"plpgsql_check is not installed for the PostgreSQL in {own.bin_dir}\n"
            )
            raise SystemExit("--if-there" not in sys.argv[1:])
        connection.execute("create extension plpgsql_check schema public")
        found = connection.execute(CHECK).fetchall()
        (count,) = connection.execute(
            "select count(*) from pg_proc p join pg_language l on l.oid = p.prolang"
            " where l.lanname = 'plpgsql' and p.pronamespace = 'leases'::regnamespace"
        ).fetchone() or (0,)
for name, level, message, line, detail, hint in found:
    extra = "; ".join(text for text in (detail, hint) if text)
    sys.stderr.write(f"{name}, line {line}: {level}: {message}{f' ({extra})' if extra else ''}\n")
sys.stdout.write(f"checked {count} functions, {len(found)} findings\n")
raise SystemExit(bool(found) or not count)
