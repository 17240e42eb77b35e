-- C5: why the lane grants nothing, or null.
create or replace function leases._closed_because(_lane leases.lanes)
returns text
language sql
stable
begin atomic
    select case
        when (_lane).paused_because is not null then 'paused: ' || (_lane).paused_because
        when (_lane).yields_to_catalog and exists (select from leases.catalog as c where c.used_bytes >= c.cap_bytes)
            then 'catalog full'
    end;
end;

comment on function leases._closed_because(leases.lanes) is
'Why the lane grants nothing now: paused, or the catalog is full; null where it is open.';

revoke all on function leases._closed_because(leases.lanes) from public;
