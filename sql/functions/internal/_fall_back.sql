-- P6: the current snapshot is unusable: settle the lane by the one kept before it.
create or replace function leases._fall_back(_draft leases.progress, _unusable leases.snapshots)
returns leases.progress
language plpgsql
as $_fall_back$
declare
    _kept leases.snapshots;
begin
    update leases.snapshots as s set status = 'stale' where s.snapshot_id = _unusable.snapshot_id;
    delete from leases.standing_points as sp where sp.snapshot_id = _unusable.snapshot_id;
    _draft := leases._settle(_draft, false);
    _kept := leases._current(_draft.group_id, _draft.lane);
    if _kept.snapshot_id is not null then
        perform leases._cover(_draft, _kept);
    end if;
    return _draft;
end;
$_fall_back$;

comment on function leases._fall_back(leases.progress, leases.snapshots) is
'Makes the current snapshot stale and settles the lane by the one before it; returns the draft with an empty window.';

revoke all on function leases._fall_back(leases.progress, leases.snapshots) from public;
