"""Parse every SQL file and every PL/pgSQL body in them, without a server."""

import re
import sys

import pglast
from pglast import ast

from pyleases.migrate import sql_folder

# Without a catalog the parser can't tell that a local of one of our row types has fields.
ROW_LOCAL = re.compile(r"(\s_\w+\s+)leases\.\w+(%rowtype)?(?=\s*(;|:=|not null))", re.IGNORECASE)

bad = 0
bodies = 0
for path in sorted(sql_folder().rglob("*.sql")):
    text = path.read_text("utf-8")
    try:
        for raw in pglast.parse_sql(text):
            statement = raw.stmt
            if not isinstance(statement, ast.CreateFunctionStmt):
                continue
            language = next(o.arg.sval for o in statement.options if o.defname == "language")
            if language == "plpgsql":
                start = raw.stmt_location or 0
                source = (
                    text.encode()[start : start + raw.stmt_len]
                    if raw.stmt_len
                    else text.encode()[start:]
                )
                pglast.parse_plpgsql(ROW_LOCAL.sub(r"\1record", source.decode()))
                bodies += 1
            elif statement.sql_body is None:
                body = next(o.arg for o in statement.options if o.defname == "as")
                pglast.parse_sql(body[0].sval)
                bodies += 1
    except (pglast.Error, pglast.parser.ParseError) as error:
        sys.stderr.write(f"{path}: {error}\n")
        bad += 1
sys.stdout.write(f"parsed {bodies} function bodies, {bad} files with errors\n")
raise SystemExit(bool(bad))
