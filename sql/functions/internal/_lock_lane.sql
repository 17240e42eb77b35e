-- Lock a lane of a group, whoever holds it.
create or replace function leases._lock_lane(_group_id bigint, _name text)
returns leases.progress
language plpgsql
as $_lock_lane$
begin
    perform leases._lane(_name);
    perform from leases.group_lanes as gl where gl.group_id = _group_id and gl.lane = _name for update;
    if not found then
        perform leases._not_found('group with that lane', format('%s, %s', _group_id, _name));
    end if;
    return leases._draft(_group_id, _name, false);
end;
$_lock_lane$;

comment on function leases._lock_lane(bigint, text) is
'Locks the lane and returns the draft of its next log row; raises not_found (LS005).';

revoke all on function leases._lock_lane(bigint, text) from public;
