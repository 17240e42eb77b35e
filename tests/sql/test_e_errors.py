"""Rule E: the errors, each with its own SQLSTATE, DETAIL and HINT."""

from __future__ import annotations

import psycopg
import pytest

from .helpers import (
    beat,
    begin,
    commit,
    discard,
    end_lease,
    finish,
    held,
    insert_range,
    lease,
    next_range,
    node,
    pause,
    plan,
    planned,
    refused,
    release,
    release_node,
    restart_group,
    resume,
    retry,
    set_priority,
    why,
)

NO = 10**9


def lost(db):
    planned(db)
    got = held(db)
    release(db, got)
    beat(db, got)


def not_held(db):
    planned(db)
    got = held(db)
    finish(db, got, next_range(db, got)["range_id"] + 1)


def not_pending(db):
    planned(db)
    commit(db, held(db), NO)


def overlapping(db):
    insert_range(db, planned(db), 50, 60)


def not_found(db):
    lease(db, NO)


def nonsense(db):
    plan(db, planned(db), 10, 5)


@pytest.mark.parametrize(
    ("provoke", "code"),
    [
        (lost, "LS001"),
        (not_held, "LS002"),
        (not_pending, "LS003"),
        (overlapping, "LS004"),
        (not_found, "LS005"),
        (nonsense, "22023"),
    ],
)
def test_e_message_is_lower_case_with_detail_and_hint(db, provoke, code):
    with pytest.raises(psycopg.Error) as caught:
        provoke(db)
    diag = caught.value.diag
    assert diag.sqlstate == code
    assert diag.message_primary[0].islower()
    assert not diag.message_primary.endswith(".")
    assert diag.message_detail
    assert diag.message_hint


@pytest.mark.parametrize("bad", [NO, 0, -1])
def test_e_ls005_unknown_node(db, bad):
    with refused("LS005"):
        lease(db, bad)
    with refused("LS005"):
        release_node(db, bad)


@pytest.mark.parametrize("bad", [NO, 0, -1])
def test_e_ls005_unknown_group(db, bad):
    for call in (
        lambda: plan(db, bad, 1, 100),
        lambda: plan(db, bad, 1, 0),
        lambda: restart_group(db, bad),
        lambda: discard(db, bad),
        lambda: set_priority(db, bad, 1, 100, 5),
        lambda: why(db, "history", bad),
    ):
        with refused("LS005"):
            call()


@pytest.mark.parametrize("bad", ["nowhere", "", "History"])
def test_e_ls005_unknown_lane(db, bad):
    g = planned(db)
    n1 = node(db)
    for call in (
        lambda: lease(db, n1, bad),
        lambda: pause(db, bad),
        lambda: resume(db, bad),
        lambda: discard(db, g, bad),
        lambda: why(db, bad),
    ):
        with refused("LS005"):
            call()


@pytest.mark.parametrize("bad", [NO, 0, -1])
def test_e_ls005_unknown_range(db, bad):
    with refused("LS005"):
        retry(db, bad)


def test_e_nulls_are_refused(db):
    g = planned(db)
    n1 = node(db)
    for call in (
        lambda: lease(db, None),
        lambda: lease(db, n1, None),
        lambda: release_node(db, None),
        lambda: plan(db, None, 1, 100),
        lambda: restart_group(db, None),
        lambda: discard(db, None),
        lambda: discard(db, g, None),
        lambda: pause(db, None),
        lambda: resume(db, None),
        lambda: retry(db, None),
        lambda: set_priority(db, g, 1, 100, None),
        lambda: set_priority(db, None, 1, 100, 5),
    ):
        with refused("LS005", "22023"):
            call()


def test_e_end_lease_of_no_lease_is_lost(db):
    with refused("LS001"):
        end_lease(db, NO)
    with refused("LS001"):
        begin(db, NO, 1)


def test_e_an_error_leaves_the_holder_able_to_go_on(db):
    planned(db)
    got = held(db)
    handed = next_range(db, got)
    for _ in range(3):
        with refused("22023"):
            beat(db, got, 5000)
        with refused("LS002"):
            finish(db, got, NO)
        with refused("LS003"):
            commit(db, got, NO)
    finish(db, got, handed)
