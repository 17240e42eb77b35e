"""Names of groups and nodes are only text: not SQL, not paths, not commands to a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import psycopg
import pytest

import pyleases
from pyleases.sweep import SweepReport
from tests.sql.helpers import (
    fail,
    group,
    held,
    next_range,
    node,
    pause,
    plan,
    planned,
    refused,
    release,
    rows,
    snapshot,
    value,
)

EVIL = {
    "quotes": """'; drop table leases.ranges; -- " $$ $1 %s %L {} \\ """,
    "dollar quotes": "$_held$ $x$ select 1 $x$",
    "paths": "../../../etc/passwd",
    "absolute": "/etc/passwd",
    "lines": "one\ntwo\r\nthree\rfour\u2028five\x0bsix\x85seven",
    "terminal": "\x1b[2J\x1b[31mred\x1b]0;title\x07\x9b31m\x1bP+q\x1b\\",
    "backspaces": "comp.evil\x08\x08\x08\x08good",
    "right to left": "\u202egnihton",
    "markup": "[bold red]loud[/bold red] [link=http://evil]here[/link] :warning:",
    "csv": "=cmd|' /C calc'!A0,\t;",
    "500": "x" * 500,
    "500 wide": "\U0001f600" * 500,
    "blank inside": "a \t b",
    "zero width": "\u200b\ufeff",
}
NO_NAME = {"501": "x" * 501, "empty": "", "blank": " \t\n\r\x0b", "null": None}


@pytest.fixture(params=list(EVIL))
def evil(request):
    return EVIL[request.param]


def test_names_are_kept_as_they_are(log_in, evil):
    worker, planner = log_in("worker"), log_in("planner")
    g = planned(planner, evil, to=100)
    assert group(planner, evil) == g
    n = node(worker, evil)
    assert node(worker, evil) == n
    got = held(worker, evil)
    assert (got["group_id"], got["group_name"]) == (g, evil)
    assert rows(log_in("monitor"), "select group_name, node_name from leases.group_status") == [
        {"group_name": evil, "node_name": evil}
    ]


def test_names_never_become_part_of_a_file_name(db, log_in, evil, dsn, tmp_path):
    planned(db, evil, to=100)
    folder = tmp_path / "snapshots"
    folder.mkdir()
    with pyleases.connect(dsn, snapshots=folder) as leases:
        lease = leases.lease_group(leases.register_node(evil))
        lease.next_range()
        lease.put_snapshot(50, b"window")
        with lease.open_snapshot() as body:
            assert body.read() == b"window"
    assert [f.parent for f in tmp_path.rglob("*.gz")] == [folder]
    (file,) = folder.iterdir()
    assert re.fullmatch(r"[0-9]+-history-[0-9]+-[0-9a-f]{32}\.gz", file.name)


@pytest.mark.parametrize("name", list(NO_NAME.values()), ids=list(NO_NAME))
def test_what_is_no_name_is_refused(log_in, name):
    with refused("22023"):
        node(log_in("worker"), name)
    with refused("22023"):
        group(log_in("planner"), name)


def test_a_name_with_a_null_byte_does_not_reach_the_server(log_in):
    worker = log_in("worker")
    with pytest.raises(psycopg.DataError):
        node(worker, "a\x00b")
    with pytest.raises(psycopg.Error):
        value(worker, r"select leases.register_node(name => E'a\000b')")
    assert node(worker, "a") > 0


def test_refusing_a_huge_name_does_not_say_it_back(log_in):
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        node(log_in("worker"), "x" * 3_000_000)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    "checksum",
    [
        "xxh3_128:" + "0" * 100_000,
        "a" * 100_000 + ":00",
        "xxh3_128:00\n",
        "xxh3_128:00; drop table leases.snapshots",
        "xxh3_128:\x1b[2J",
        "../x:00",
        "xxh3_128:" + "g" * 3_000_000,
        ":00",
        "xxh3_128:",
        "XXH3_128:00",
        "xxh3_128:\u0660\u0661",
    ],
    ids=range(11),
)
def test_checksums_that_are_none(db, log_in, checksum):
    planned(db)
    worker = log_in("worker")
    got = held(worker)
    begun = value(
        worker,
        "select snapshot_id from leases.begin_snapshot(lease_id => %s, next_id => 1)",
        got["lease_id"],
    )
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        worker.execute(
            "select leases.commit_snapshot(lease_id => %s, snapshot_id => %s, bytes => 1, checksum => %s)",
            (got["lease_id"], begun, checksum),
        )
    assert len(str(caught.value)) < 2000
    snapshot(worker, got, 1)


def test_a_huge_reason_is_cut(db, log_in):
    planned(db)
    worker = log_in("worker")
    got = held(worker)
    fail(worker, got, next_range(worker, got), "x" * 3_000_000)
    assert value(db, "select max(char_length(last_error)) from leases.ranges") == 10_000


# terminals ----------------------------------------------------------------------------------------


def shown_in_a_terminal(dsn, *arguments, stdin=b""):
    """Run a command with its output in a pseudo-terminal, and return all that it wrote."""
    ours, its = os.openpty()
    environment = {**os.environ, "PYLEASES_DSN": dsn, "COLUMNS": "400", "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-m", "pyleases", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=its,
        stderr=its,
        env=environment,
    ) as process:
        os.close(its)
        process.stdin.write(stdin)
        process.stdin.close()
        written = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other end was closed
                break
            if not chunk:
                break
            written += chunk
    os.close(ours)
    return written.decode()


# what rich itself writes: colours and styles, erasing the line of its spinner, hiding the cursor
OURS = re.compile(r"\x1b\[(?:[0-9;]*m|[0-9]*[AGK]|\?25[lh])")


def dangerous(written):
    """Find what a terminal would take for a command, in what is left when our own styles are gone."""
    left = OURS.sub("", written).replace("\r\n", "\n").replace("\r", "")
    return {c for c in left if not c.isprintable() and c != "\n"}


def test_status_writes_no_name_that_a_terminal_obeys(db, log_in, dsn):
    worker, planner = log_in("worker"), log_in("planner")
    for name in ("terminal", "lines", "backspaces", "right to left", "markup"):
        planned(planner, EVIL[name], to=100)
        held(worker, EVIL[name])
    pause(log_in("admin"), "history", EVIL["terminal"] + EVIL["lines"])
    written = shown_in_a_terminal(dsn, "status")
    assert dangerous(written) == set()
    assert "\x1b[31mred" not in written
    assert r"\x1b[2J" in written
    assert r"one\ntwo" in written
    assert "[bold red]loud[/bold red]" in written
    assert "held groups" in written


def test_errors_write_nothing_that_a_terminal_obeys(dsn):
    """The server says back what it was given."""
    name = "evil\x1b[31m\nhint: run this"
    written = shown_in_a_terminal(psycopg.conninfo.make_conninfo(dsn, user=name), "status")
    assert r"evil\x1b[31m" in written
    assert dangerous(written) == set()


def test_sweep_writes_nothing_that_a_terminal_obeys(db, dsn, tmp_path):
    planned(db)
    got = held(db)
    snapshot(db, got, 1)
    release(db, got)
    db.execute(
        "update leases.snapshots set status = 'stale', file = %s", (EVIL["terminal"] + "\nx",)
    )
    written = shown_in_a_terminal(dsn, "sweep", "--snapshots", tmp_path)
    assert "not deleted" in written
    assert dangerous(written) == set()
    report = SweepReport(failed=((EVIL["lines"], OSError(1, "not\x1b[2J")),))
    assert {c for c in str(report) if not c.isprintable()} == {"\n"}
    assert str(report).count("\n") == 1


def test_plan_writes_nothing_that_a_terminal_obeys(dsn):
    line = EVIL["terminal"].encode()
    written = shown_in_a_terminal(
        dsn, "plan", "--active", "-", stdin=line + b" 9 x y\r\na 9 1 y\r\n.\r\n"
    )
    assert "line 1" in written
    assert dangerous(written) == set()


def test_overlap_and_other_errors_say_hostile_names_as_literals(log_in):
    """DETAIL quotes what was given, so that it reads as one value."""
    planner = log_in("planner")
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        value(
            planner,
            "select count(*) from leases.plan_logs(names => %s, lows => array[1, 1], highs => array[9, 9],"
            " history_priority => 50)",
            ["it's", "it's"],
        )
    assert "'it''s'" in caught.value.diag.message_detail
    g = group(planner, "x")
    plan(planner, g, 1, 10)
