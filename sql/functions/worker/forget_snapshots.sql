-- The files of these snapshots are gone.
create or replace function leases.forget_snapshots(snapshot_ids bigint[])
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $forget_snapshots$
-- P5. Only stale and aborted ones are forgotten, whatever is asked.
begin
    update leases.snapshots as s set status = 'gone'
        where s.snapshot_id = any(forget_snapshots.snapshot_ids) and s.status in ('stale', 'aborted');
end;
$forget_snapshots$;

comment on function leases.forget_snapshots(bigint[]) is
'Takes those snapshots off the list of stale ones; current, kept and pending ones are left alone.';

revoke all on function leases.forget_snapshots(bigint[]) from public;
grant execute on function leases.forget_snapshots(bigint[]) to leases_worker;
