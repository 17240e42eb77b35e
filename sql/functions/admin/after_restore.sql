-- The database came back from a dump, a point in time, or a failover that may have lost commits.
create or replace function leases.after_restore()
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $after_restore$
-- O1. What the lost time gave out lies within the jump: 2^32 ids are 136 years of one a second.
declare
    _draft leases.progress;
    _group_id bigint;
    _lane text;
begin
    perform setval('leases.lease_ids', nextval('leases.lease_ids') + 4294967296);
    perform setval('leases.snapshot_ids', nextval('leases.snapshot_ids') + 4294967296);
    for _group_id, _lane in select gl.group_id, gl.lane from leases.group_lanes as gl order by gl.group_id, gl.lane loop
        _draft := leases._lock_lane(_group_id, _lane);
        if _draft.lease_id is not null then
            perform leases._let_go(leases._settle(_draft, false), 'restore');
        end if;
    end loop;
end;
$after_restore$;

comment on function leases.after_restore() is
'Ends every lease and lets lease and snapshot ids start far above any that the lost time could have given. Call it once, before any worker calls.';

revoke all on function leases.after_restore() from public;
grant execute on function leases.after_restore() to leases_admin;
