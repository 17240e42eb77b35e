-- The lane's current snapshot is unusable.
create or replace function leases.discard_snapshot(group_id bigint, lane text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $discard_snapshot$
-- P6: falls back, and ends the lease of whoever holds the lane.
declare
    _draft leases.progress;
    _current leases.snapshots;
begin
    _draft := leases._lock_lane(discard_snapshot.group_id, discard_snapshot.lane);
    _current := leases._current(_draft.group_id, _draft.lane);
    if _current.snapshot_id is null then
        perform leases._not_found('snapshot', format('of group %s, lane %s', _draft.group_id, _draft.lane));
    end if;
    perform leases._let_go(leases._fall_back(_draft, _current), 'discard snapshot');
end;
$discard_snapshot$;

comment on function leases.discard_snapshot(bigint, text) is
'The lane falls back to the snapshot kept before its current one and is settled by it; its lease ends. Raises not_found (LS005) for an unknown group or lane, or where the lane has no snapshot.';

revoke all on function leases.discard_snapshot(bigint, text) from public;
grant execute on function leases.discard_snapshot(bigint, text) to leases_admin;
