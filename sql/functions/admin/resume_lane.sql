-- Let a paused lane grant again.
create or replace function leases.resume_lane(lane text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $resume_lane$
begin
    perform leases._lane(resume_lane.lane);
    update leases.lanes as l set paused_because = null where l.lane = resume_lane.lane;
end;
$resume_lane$;

comment on function leases.resume_lane(text) is
'Lets a paused lane grant again. Raises not_found (LS005).';

revoke all on function leases.resume_lane(text) from public;
grant execute on function leases.resume_lane(text) to leases_admin;
