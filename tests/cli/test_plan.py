"""``pyleases plan``: first sight is history, what comes later tail, and nothing twice or half."""

from __future__ import annotations

import re
import threading

import psycopg
import pytest

import pyleases
from pyleases.active import ActiveList, Group, plan_active


@pytest.fixture
def plan(pyleases_cli):
    def run(text, *options, **kwargs):
        return pyleases_cli("plan", "--active", "-", *options, stdin=text, **kwargs)

    return run


def spans(db):
    """The spans of each group and lane, ranges that meet made one."""
    rows = db.execute(
        "select g.name, r.lane, r.start_id, r.end_id from leases.range_status as r"
        " join leases.groups as g using (group_id) order by 1, 2, 3"
    ).fetchall()
    out: dict[tuple[str, str], list[list[int]]] = {}
    for row in rows:
        here = out.setdefault((row["name"], row["lane"]), [])
        if here and here[-1][1] + 1 == row["start_id"]:
            here[-1][1] = row["end_id"]
        else:
            here.append([row["start_id"], row["end_id"]])
    return {key: [tuple(span) for span in value] for key, value in out.items()}


def test_first_sight_is_history_and_what_is_new_is_tail(plan, db):
    out, err = plan(b"215 list\r\na 100 1 y\r\nb 0 1 y\r\n.\r\n", "--size", "30")
    assert "2 listed, 2 new, 0 known, 1 empty" in out
    assert "100 history (lane history), 0 tail (lane tail)" in out
    assert err == ""
    assert spans(db) == {("a", "history"): [(1, 100)]}
    assert db.execute(
        "select max(end_id - start_id + 1) as most from leases.ranges"
    ).fetchone() == {"most": 30}

    out, _ = plan(b"a 120 1 y\nb 5 1 y\nc 4 3 y\n")
    assert "3 listed, 1 new, 2 known, 0 empty" in out
    assert "2 history (lane history), 25 tail (lane tail)" in out
    assert spans(db) == {
        ("a", "history"): [(1, 100)],
        ("a", "tail"): [(101, 120)],
        ("b", "tail"): [(1, 5)],
        ("c", "history"): [(3, 4)],
    }
    assert "0 history (lane history), 0 tail" in plan(b"a 120 1 y\nb 5 1 y\nc 4 3 y\n")[0]


def test_priorities_and_tail_from(plan, db):
    plan(b"a 100 1 y\nb 3 1 y\n", "--priority", "40", "--tail-priority", "5", "--tail-from", "10")
    rows = db.execute(
        "select name, r.priority, start_id, end_id from leases.ranges as r"
        " join leases.groups using (group_id) order by 1, 3"
    ).fetchall()
    assert [tuple(row.values()) for row in rows] == [
        ("a", 40, 1, 90),
        ("a", 5, 91, 100),
        ("b", 5, 1, 3),
    ]


def test_c29_a_lower_high_plans_nothing_and_moves_nothing(plan, db):
    plan(b"a 49999 40000 y\n")
    before = spans(db)
    for text in (b"a 1200 1 y\n", b"a 0 0 y\n", b"a 45000 1 y\n", b"a 40000 40001 y\n"):
        assert "0 history (lane history), 0 tail" in plan(text)[0]
    assert spans(db) == before
    assert "11 tail" in plan(b"a 50010 40000 y\n")[0]
    assert spans(db) == before | {("a", "tail"): [(50000, 50010)]}


def test_c30_a_gap_between_two_runs_is_planned(plan, db):
    plan(b"a 1000 1 y\n")
    plan(b"a 1500 1 y\n")
    plan(b"a 9000 900 y\n")
    assert spans(db) == {("a", "history"): [(1, 1000)], ("a", "tail"): [(1001, 9000)]}


def test_articles_that_expired_unseen_are_not_planned_until_they_show(plan, db):
    plan(b"a 1000 1 y\n")
    plan(b"a 3000 2000 y\n")
    assert spans(db)["a", "tail"] == [(2000, 3000)]
    plan(b"a 3000 1500 y\n")
    assert spans(db)["a", "tail"] == [(1500, 3000)]


def test_a_lower_low_is_history(plan, db):
    plan(b"a 1000 500 y\n")
    assert "100 history (lane history), 5 tail" in plan(b"a 1005 400 y\n")[0]
    assert spans(db) == {("a", "history"): [(400, 1000)], ("a", "tail"): [(1001, 1005)]}


def test_what_was_planned_by_hand_is_not_planned_twice(plan, db):
    db.execute(
        "select leases.plan_ranges(group_id => leases.add_group(name => 'a'), start_id => 41,"
        " end_id => 60, priority => 20)"
    )
    assert "80 history" in plan(b"a 100 1 y\n")[0]
    assert spans(db) == {("a", "history"): [(1, 100)]}


def test_a_restarted_group_is_seen_for_the_first_time_again(plan, db):
    plan(b"a 1000 1 y\n")
    db.execute("select leases.restart_group(group_id => group_id) from leases.groups")
    assert "50 history (lane history), 0 tail" in plan(b"a 50 1 y\n")[0]
    assert spans(db) == {("a", "history"): [(1, 50)]}


def test_malformed_lines_are_counted_and_shown_and_not_fatal(plan, db):
    out, err = plan(b"a 10 1 y\nb 3 9 y\nc x 1 y\nd 2 1 y\n")
    assert "malformed lines: 2" in out
    assert re.findall(r"^line (\d+): ", err, re.M) == ["2", "3"]
    assert spans(db) == {("a", "history"): [(1, 10)], ("d", "history"): [(1, 2)]}


def test_something_that_is_no_list_is_an_error(plan):
    _, err = plan(b"480 authentication required\r\n", code=1)
    assert "is it a LIST ACTIVE answer?" in err


def test_nothing_is_half_planned(dsn, db):
    groups = [Group(f"g{i}", 1, 10) for i in range(50)] + [Group("bad", 9, 1)]
    with (
        pyleases.connect(dsn) as leases,
        pytest.raises(psycopg.errors.InvalidParameterValue) as caught,
    ):
        plan_active(leases, ActiveList(tuple(groups), ()))
    assert caught.value.sqlstate == "22023"
    assert db.execute("select count(*) as n from leases.groups").fetchone() == {"n": 0}


def test_hostile_names_are_only_names(plan, db):
    names = [b"'; drop table leases.ranges;--".replace(b" ", b"_"), b"../..", b".", b"{}", b"%s"]
    plan(b"".join(n + b" 2 1 y\n" for n in names))
    rows = db.execute("select name from leases.groups").fetchall()
    assert {row["name"].encode() for row in rows} == set(names)


def test_large_numbers_plan_at_once(plan, db):
    plan(b"a 9223372036854775806 9223372036854770000 y\n", "--size", "1000")
    plan(b"b 10600000000 10500000000 y\n", "--size", "1000000")
    assert spans(db) == {
        ("a", "history"): [(9223372036854770000, 2**63 - 2)],
        ("b", "history"): [(10500000000, 10600000000)],
    }


def test_c30_two_planners_at_once_give_no_hole_and_no_double(dsn, connect):
    """Two connections, the same first sight, other highs: whoever is first draws the line."""
    names = [f"g{i}" for i in range(20)]
    highs = {1000: None, 1010: None}
    together = threading.Barrier(2)
    errors = []

    def planner(high):
        groups = [Group(n, 1, high) for n in (names if high == 1000 else reversed(names))]
        try:
            with pyleases.connect(dsn) as leases:
                together.wait()
                highs[high] = plan_active(leases, ActiveList(tuple(groups), ()))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=planner, args=[high]) for high in highs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []
    db = connect()
    for name in names:
        ours = {lane: s for (group, lane), s in spans(db).items() if group == name}
        assert ours in (
            {"history": [(1, 1000)], "tail": [(1001, 1010)]},
            {"history": [(1, 1010)]},
        )


def test_c30_a_planner_waits_for_the_other_one_and_sees_what_it_saw(dsn, connect):
    """The first has not committed yet when the second comes: forced, in both orders of highs."""
    for name, first_high, second_high in (("a", 1000, 1010), ("b", 1010, 1000)):
        first = connect(autocommit=False)
        call = (
            "select * from leases.plan_logs(names => array[%s], lows => array[1::bigint],"
            " highs => array[%s::bigint], history_priority => 50)"
        )
        first.execute(call, [name, first_high])
        second = connect()
        thread = threading.Thread(target=second.execute, args=[call, [name, second_high]])
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        first.commit()
        thread.join()
    assert spans(connect()) == {
        ("a", "history"): [(1, 1000)],
        ("a", "tail"): [(1001, 1010)],
        ("b", "history"): [(1, 1010)],
    }


def test_real_list(plan, db, real_data):
    file = (real_data / "news.active").read_bytes()
    out, err = plan(file)
    assert "21,015 listed, 21,015 new, 0 known, 12,904 empty" in out
    assert "6,704,695 history (lane history), 0 tail" in out
    assert err == ""
    planned = db.execute(
        "select count(distinct group_id) as groups, sum(end_id - start_id + 1)::bigint as articles"
        " from leases.ranges"
    ).fetchone()
    assert planned == {"groups": 8_111, "articles": 6_704_695}
    out, _ = plan(file)
    assert "0 new, 21,015 known" in out
    assert "0 history (lane history), 0 tail" in out


def test_real_watermarks_of_bug_reports(plan, real_data):
    rows = (real_data / "watermarks-from-reports.tsv").read_text("utf-8").splitlines()[1:]
    text, articles = "", 0
    for i, row in enumerate(rows):
        _, low, high, *_ = row.split("\t")
        text += f"g{i} {high} {low or high} y\n"
        articles += int(high) - int(low or high) + 1
    out, err = plan(text.encode(), "--size", "10000000")
    assert err == ""
    assert f"{articles:,} history" in out
