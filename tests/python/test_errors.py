"""psycopg raises our errors by their SQLSTATE: seen in its source, not in its documents, so pinned here."""

import pickle

import psycopg
import pytest

import pyleases

CODES = {
    "LS001": pyleases.LeaseLost,
    "LS002": pyleases.RangeNotHeld,
    "LS003": pyleases.SnapshotNotPending,
    "LS004": pyleases.OverlappingRange,
    "LS005": pyleases.NotFound,
}


@pytest.mark.parametrize(("code", "error"), CODES.items())
def test_psycopg_raises_it_by_its_sqlstate(db, code, error):
    raising = f"do $$ begin raise 'no' using errcode = '{code}', detail = 'd', hint = 'h'; end $$"
    with pytest.raises(pyleases.LeasesError) as caught:
        db.execute(raising)
    assert type(caught.value) is error
    assert isinstance(caught.value, psycopg.DatabaseError)
    assert (caught.value.sqlstate, caught.value.diag.message_hint) == (code, "h")
    assert caught.value.diag.message_detail == "d"
    assert type(pickle.loads(pickle.dumps(caught.value))) is error


def test_every_error_of_the_contract_can_be_met(leases, lease):
    with pytest.raises(pyleases.NotFound):
        leases.lease_group(987_654)
    with pytest.raises(pyleases.NotFound):
        leases.pause_lane("nowhere", "no")
    with pytest.raises(pyleases.RangeNotHeld):
        lease.finish_range(987_654)
    with pytest.raises(pyleases.SnapshotNotPending):
        lease.commit_snapshot(987_654, 0, "sha256:00")
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        leases.register_node(" ")


def test_overlapping_range(db, leases, group):
    with pytest.raises(pyleases.OverlappingRange):
        db.execute(
            "insert into leases.ranges (group_id, start_id, end_id, next_id, priority) "
            "values (%s, 50, 60, 50, 50)",
            [group],
        )
