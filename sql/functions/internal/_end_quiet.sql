-- C8: settle a quiet lane that has nothing to offer and end its lease; 1 where that was done.
create or replace function leases._end_quiet(_lane leases.lanes, _group_id bigint)
returns integer
language plpgsql
as $_end_quiet$
declare
    _draft leases.progress;
begin
    perform from leases.group_lanes as gl
        where gl.group_id = _group_id and gl.lane = _lane.lane for update skip locked;
    if found then
        _draft := leases._draft(_group_id, _lane.lane, false);
        if _draft.lease_id is not null and leases._is_quiet(_draft.heard_at, _lane.ttl) then
            perform leases._let_go(leases._settle(_draft, true), 'quiet');
            return 1;
        end if;
    end if;
    return 0;
end;
$_end_quiet$;

comment on function leases._end_quiet(leases.lanes, bigint) is
'Ends the lease of a quiet holder; 0 where the lane is in use.';

revoke all on function leases._end_quiet(leases.lanes, bigint) from public;
