-- All snapshots of a lane become stale: nothing falls back to them.
create or replace function leases._drop_snapshots(_group_id bigint, _lane text)
returns void
language plpgsql
as $_drop_snapshots$
begin
    delete from leases.standing_points as sp using leases.snapshots as s
        where sp.snapshot_id = s.snapshot_id and s.group_id = _group_id and s.lane = _lane and s.status = 'kept';
    update leases.snapshots as s set status = 'stale'
        where s.group_id = _group_id and s.lane = _lane and s.status = 'kept';
end;
$_drop_snapshots$;

comment on function leases._drop_snapshots(bigint, text) is
'Makes the lane''s kept snapshots stale.';

revoke all on function leases._drop_snapshots(bigint, text) from public;
