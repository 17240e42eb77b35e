-- Whether planned ranges of priorities outside the lane's band are in that lane of the group: begun ones (N4).
create or replace function leases._has_others(_group_id bigint, _lane leases.lanes)
returns boolean
language plpgsql
stable
as $_has_others$
begin
    return exists (
        select from leases.tallies as y
        where y.group_id = _group_id and y.lane = (_lane).lane and y.planned_ranges <> 0
            and not leases._in_band(_lane, y.priority)
    ) or exists (
        select from leases.notes as n
        where n.group_id = _group_id and n.lane = (_lane).lane and n.planned_ranges <> 0
            and not leases._in_band(_lane, n.priority)
    );
end;
$_has_others$;

comment on function leases._has_others(bigint, leases.lanes) is
'Whether the tallies and notes of that lane of the group show planned ranges of another band.';

revoke all on function leases._has_others(bigint, leases.lanes) from public;
