"""The SQLSTATEs in SQL, in Python and in the docs are the same set."""

import inspect
import re
from pathlib import Path

import pyleases
from pyleases import errors
from pyleases.migrate import sql_folder

ROOT = Path(__file__).parents[2]
OWN = re.compile(r"\bLS\d{3}\b")
CONTRACT = {
    "LS001": pyleases.LeaseLost,
    "LS002": pyleases.RangeNotHeld,
    "LS003": pyleases.SnapshotNotPending,
    "LS004": pyleases.OverlappingRange,
    "LS005": pyleases.NotFound,
}


def named_in(*files):
    return {code for file in files for code in OWN.findall(file.read_text("utf-8"))}


def test_sql():
    assert named_in(*sql_folder().rglob("*.sql")) == set(CONTRACT)


def test_sql_raises_them_in_code_and_not_only_in_comments():
    text = "\n".join(p.read_text("utf-8") for p in (sql_folder() / "functions").rglob("*.sql"))
    for code in CONTRACT:
        assert f"'{code}'" in text


def test_python():
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass)]
    own = {c.sqlstate: c for c in classes if OWN.fullmatch(getattr(c, "sqlstate", None) or "")}
    assert own == CONTRACT
    assert all(issubclass(c, pyleases.LeasesError) for c in own.values())


def test_docs():
    assert named_in(*(ROOT / "docs").rglob("*.md")) == set(CONTRACT)
