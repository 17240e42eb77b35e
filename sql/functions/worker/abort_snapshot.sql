-- Give up a snapshot that was begun.
create or replace function leases.abort_snapshot(lease_id bigint, snapshot_id bigint)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $abort_snapshot$
declare
    _draft leases.progress := leases._held(abort_snapshot.lease_id, false);
begin
    update leases.snapshots as s set status = 'aborted'
        where s.snapshot_id = abort_snapshot.snapshot_id and s.lease_id = abort_snapshot.lease_id
            and s.status = 'pending';
    if not found and not exists (
        select from leases.snapshots as s
        where s.snapshot_id = abort_snapshot.snapshot_id and s.lease_id = abort_snapshot.lease_id
            and s.taken_at is null
    ) then
        perform leases._not_pending(abort_snapshot.lease_id, abort_snapshot.snapshot_id);
    end if;
    _draft := leases._log(_draft, 'abort snapshot');
end;
$abort_snapshot$;

comment on function leases.abort_snapshot(bigint, bigint) is
'Aborts the pending snapshot; again, it changes nothing. Raises lease_lost (LS001), snapshot_not_pending (LS003).';

revoke all on function leases.abort_snapshot(bigint, bigint) from public;
grant execute on function leases.abort_snapshot(bigint, bigint) to leases_worker;
