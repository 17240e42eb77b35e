-- Pause a lane: it grants nothing until resumed.
create or replace function leases.pause_lane(lane text, reason text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $pause_lane$
-- C5. Who holds is not disturbed.
begin
    perform leases._lane(pause_lane.lane);
    update leases.lanes as l set paused_because = coalesce(pause_lane.reason, 'no reason given')
        where l.lane = pause_lane.lane;
end;
$pause_lane$;

comment on function leases.pause_lane(text, text) is
'Lets the lane grant nothing, for that reason; who holds goes on. Raises not_found (LS005).';

revoke all on function leases.pause_lane(text, text) from public;
grant execute on function leases.pause_lane(text, text) to leases_admin;
