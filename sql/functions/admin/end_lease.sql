-- Take a lease away from its holder.
create or replace function leases.end_lease(lease_id bigint)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $end_lease$
-- As if the holder had gone quiet and been taken over (F4 parks then, too).
begin
    perform leases._let_go(leases._settle(leases._held(end_lease.lease_id, false), true), 'end');
end;
$end_lease$;

comment on function leases.end_lease(bigint) is
'Takes the lease away as a takeover would: its holder''s next call is told lease_lost. Raises lease_lost (LS001) where it is not the current lease of its lane.';

revoke all on function leases.end_lease(bigint) from public;
grant execute on function leases.end_lease(bigint) to leases_admin;
