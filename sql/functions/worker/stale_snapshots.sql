-- Snapshots whose files can go.
create or replace function leases.stale_snapshots()
returns setof leases.snapshot_begun
language plpgsql
stable
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $stale_snapshots$
-- P5.
begin
    return query
    select s.snapshot_id, s.file from leases.snapshots as s
    where s.status in ('stale', 'aborted') order by s.snapshot_id;
end;
$stale_snapshots$;

comment on function leases.stale_snapshots() is
'Returns superseded and aborted snapshots whose files are not yet said to be gone.';

revoke all on function leases.stale_snapshots() from public;
grant execute on function leases.stale_snapshots() to leases_worker;
