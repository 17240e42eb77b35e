"""The docs say what is there, and what they tell the reader to run does run."""

import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

import pyleases

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
OPERATING = ROOT / "docs" / "operating.md"
REFERENCE = ROOT / "docs" / "reference.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    """The code blocks of a page that are in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_reference_is_what_the_comments_say():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr


def test_every_granted_function_is_in_the_reference(db):
    granted = {
        row["name"]
        for row in db.execute(
            "select p.proname as name from pg_proc p, aclexplode(p.proacl) a"
            " where p.pronamespace = 'leases'::regnamespace and a.grantee <> p.proowner"
        )
    }
    assert "lease_group" in granted
    assert granted == set(re.findall(r"^leases\.(\w+)\(", REFERENCE.read_text("utf-8"), re.M))


def test_every_view_and_setting_is_in_the_reference(db):
    text = REFERENCE.read_text("utf-8")
    rows = db.execute(
        "select relname as relation, attname as name from pg_attribute join pg_class on oid = attrelid"
        " where relnamespace = 'leases'::regnamespace and (relkind = 'v' or relname = 'lanes')"
        " and relname !~ '^_' and attnum > 0 and not attisdropped"
    ).fetchall()
    assert {"lanes", "group_status", "range_status", "lane_status"} <= {r["relation"] for r in rows}
    for row in rows:
        assert f"| `{row['name']}` |" in text, row


def test_every_sqlstate_that_is_raised_is_in_the_reference(db):
    raised = {
        code
        for row in db.execute(
            "select pg_get_functiondef(oid) as body from pg_proc"
            " where pronamespace = 'leases'::regnamespace and prokind = 'f'"
        )
        for code in re.findall(r"_raise\(\s*'([0-9A-Z]{5})'", row["body"])
    }
    assert {"LS001", "LS002", "LS003", "LS004", "LS005", "22023", "42501"} <= raised
    text = REFERENCE.read_text("utf-8")
    for code in raised:
        assert f"| `{code}` |" in text, code


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf-8")):
        path, _, part = target.partition("#")
        there = (page.parent / path) if path else page
        assert there.exists(), target
        if part:
            headings = re.findall(r"^#+ (.+)$", there.read_text("utf-8"), re.M)
            assert part in {anchor(h) for h in headings}, target


def run(db, sql):
    for statement in filter(str.strip, re.sub(r"--.*", "", sql).split(";")):
        roles = re.match(r"\s*create role (\w+)", statement)
        if roles:  # belong to the server, not to the database of this test
            db.execute("begin")
        rows = db.execute(statement)
        rows = rows.fetchall() if rows.description else rows.rowcount
        if roles:
            db.execute("rollback")
        yield statement, rows


def ten_lines(db):
    (ten, *_) = blocks(README, "sql")
    return dict(run(db, ten))


def test_readme_sql_does_what_its_comments_say(db):
    done = {re.search(r"leases\.(\w+)", s)[1]: rows for s, rows in ten_lines(db).items()}
    assert len(done) == 10
    assert done["register_node"] == [{"register_node": 1}]
    assert done["lease_group"][0]["lease_id"] == 1
    assert (done["next_range"][0]["range_id"], done["next_range"][0]["end_id"]) == (1, 10000)
    assert done["finish_and_next"][0]["range_id"] == 2
    assert done["begin_snapshot"][0]["snapshot_id"] == 1
    (status,) = done["group_status"]
    assert (status["ranges_done"], status["snapshot_next"]) == (1, 10001)
    assert (status["articles_offered"], status["headers"]) == (40000, 9876)


def test_every_other_sql_in_readme_and_operating_runs(db):
    ten_lines(db)
    (_, *others) = blocks(README, "sql")
    ran = [s for block in others + blocks(OPERATING, "sql") for s, _ in run(db, block)]
    assert len(ran) > 20


def test_readme_python_runs(dsn, db, tmp_path):
    db.execute(
        "select leases.plan_ranges(leases.add_group('comp.lang.sql'), 1, 2500, 50, size => 1000)"
    )
    (code,) = blocks(README, "python")
    for old, new in (("postgresql:///index", dsn), ("/bulk/snapshots", str(tmp_path))):
        assert old in code
        code = code.replace(old, new)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["window"] == list(range(1, 2501))
    (status,) = db.execute("select * from leases.group_status").fetchall()
    assert (status["ranges_done"], status["snapshot_next"]) == (3, 2501)
    assert status["lease_id"] is None
    # the next holder finds the window
    db.execute("select leases.plan_ranges(1, 2501, 2600, 50)")
    exec(compile(code, "README.md", "exec"), names)
    assert names["window"] == list(range(1, 2601))


def test_errors_named_in_the_docs_are_there():
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    for name in set(re.findall(r"\bpyleases\.([A-Z]\w+)", text)):
        assert hasattr(pyleases, name), name
    for name in set(re.findall(r"\bpsycopg\.errors\.(\w+)", text)):
        assert issubclass(getattr(psycopg.errors, name), psycopg.Error), name


def test_commands_named_in_the_docs_are_there():
    from pyleases.cli import main

    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    named = set(re.findall(r"(?:`|^)pyleases (\w+)", text, re.M))
    assert named >= {"migrate", "plan", "status", "sweep", "demo"}
    assert named <= set(main.list_commands(None))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"`make (\w+)", text)):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_options_named_in_the_docs_are_there():
    from pyleases.cli import main

    for page in PAGES:
        for line in re.findall(r"^pyleases (\w+ .*)$", page.read_text("utf-8"), re.M):
            command, *words = line.split("#")[0].split()
            there = {o for p in main.get_command(None, command).params for o in p.opts}
            assert {w for w in words if w.startswith("--")} <= there, line
