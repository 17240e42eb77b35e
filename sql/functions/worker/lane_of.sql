-- The lane of a priority.
create or replace function leases.lane_of(priority integer)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $lane_of$
begin
    return nullif(leases._home_lane(lane_of.priority), '');
end;
$lane_of$;

comment on function leases.lane_of(integer) is
'Returns the lane whose band has that priority; null where none has.';

revoke all on function leases.lane_of(integer) from public;
grant execute on function leases.lane_of(integer) to leases_worker, leases_planner, leases_monitor;
