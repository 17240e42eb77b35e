-- The log was renumbered at its source: the group begins anew.
create or replace function leases.restart_group(group_id bigint)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $restart_group$
declare
    _draft leases.progress;
    _lane text;
begin
    if not exists (select from leases.groups as g where g.group_id = restart_group.group_id) then
        perform leases._not_found('group', restart_group.group_id::text);
    end if;
    for _lane in
        select gl.lane from leases.group_lanes as gl where gl.group_id = restart_group.group_id order by gl.lane
    loop
        _draft := leases._settle(leases._lock_lane(restart_group.group_id, _lane), false);
        perform leases._drop_snapshots(_draft.group_id, _lane);
        perform leases._let_go(_draft, 'restart');
    end loop;
    perform leases._lock_planning(array[restart_group.group_id]);
    update leases.planning as p set tail_from = null, log_low = null, log_high = null
        where p.group_id = restart_group.group_id;
    perform leases._drop_ranges(restart_group.group_id);
    perform leases._refresh_one(restart_group.group_id, gl.lane) from leases.group_lanes as gl
        where gl.group_id = restart_group.group_id;
end;
$restart_group$;

comment on function leases.restart_group(bigint) is
'Ends the group''s leases, drops its ranges, makes its snapshots stale. Raises not_found (LS005).';

revoke all on function leases.restart_group(bigint) from public;
grant execute on function leases.restart_group(bigint) to leases_admin;
