-- C5: why the lane grants nothing, or null.
create or replace function leases._closed_because(_lane leases.lanes)
returns text
language plpgsql
stable
as $_closed_because$
begin
    if _lane.paused_because is not null then
        return 'paused: ' || _lane.paused_because;
    elsif _lane.yields_to_catalog and exists (select from leases.catalog as c where c.used_bytes >= c.cap_bytes) then
        return 'catalog full';
    end if;
    return null;
end;
$_closed_because$;

comment on function leases._closed_because(leases.lanes) is
'Why the lane grants nothing now: paused, or the catalog is full; null where it is open.';

revoke all on function leases._closed_because(leases.lanes) from public;
