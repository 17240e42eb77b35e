"""Have pgspot look for definer functions that a caller's search_path could lead astray."""

import subprocess
import sys
from pathlib import Path

import pglast
from pglast import ast

from pyleases.migrate import sql_folder

# Internal functions pin no path of their own: nobody may execute them but the definer functions that
# call them, whose path is pinned (PS004 here, and the contract tests) and goes with the call.
IGNORED = ["PS001", "PS005", "PS009", "PS016", "PS017"]


def has_atomic_body(path: Path) -> bool:
    """Tell of a body that is bound when it is created: no path matters, and pgspot can't read it."""
    statements = (raw.stmt for raw in pglast.parse_sql(path.read_text("utf-8")))
    return any(isinstance(s, ast.CreateFunctionStmt) and s.sql_body is not None for s in statements)


migrations = sorted((sql_folder() / "migrations").glob("*.sql"))
functions = sorted((sql_folder() / "functions").rglob("*.sql"))
files = [p for p in migrations if ".rollback." not in p.name]
files += [p for p in functions if not has_atomic_body(p)]
options = [part for code in IGNORED for part in ("--ignore", code)]
# Bodies are left to plpgsql_check, which knows our types. With -a, as one script: only then does
# pgspot know that the schema is ours.
done = subprocess.run(
    [Path(sys.executable).with_name("pgspot"), *options, "--no-plpgsql", "-a", *files],
    capture_output=True,
    text=True,
    check=False,
)
for line in (done.stdout + done.stderr).splitlines():
    if line.strip() and "Errors: 0 Warnings: 0" not in line and not line.endswith(".sql: "):
        sys.stdout.write(f"{line}\n")
sys.stdout.write(f"pgspot looked at {len(files)} files\n")
raise SystemExit(done.returncode)
