-- P6: of the committed snapshots the last keep_snapshots stay; older ones become stale.
create or replace function leases._supersede(_draft leases.progress)
returns void
language plpgsql
as $_supersede$
begin
    with old as (
        update leases.snapshots as s set status = 'stale'
        where s.snapshot_id in (
            select k.snapshot_id from leases.snapshots as k
            where k.group_id = _draft.group_id and k.lane = _draft.lane and k.status = 'kept'
            order by k.snapshot_id desc
            offset (select l.keep_snapshots from leases.lanes as l where l.lane = _draft.lane))
        returning s.snapshot_id
    )
    delete from leases.standing_points as sp using old where sp.snapshot_id = old.snapshot_id;
end;
$_supersede$;

comment on function leases._supersede(leases.progress) is
'Makes snapshots beyond keep_snapshots stale and drops their standing points.';

revoke all on function leases._supersede(leases.progress) from public;
