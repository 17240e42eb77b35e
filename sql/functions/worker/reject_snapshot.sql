-- The current snapshot is missing or corrupt: fall back to the one kept before it.
create or replace function leases.reject_snapshot(lease_id bigint, snapshot_id bigint)
returns setof leases.snapshot
language plpgsql
rows 1
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $reject_snapshot$
-- P6.
declare
    _draft leases.progress := leases._held(reject_snapshot.lease_id, false);
    _current leases.snapshots := leases._current(_draft.group_id, _draft.lane);
begin
    if _current.snapshot_id = reject_snapshot.snapshot_id then
        _draft := leases._fall_back(_draft, _current);
        _draft := leases._log(_draft, 'reject snapshot');
    elsif not exists (
        select from leases.snapshots as s
        where s.snapshot_id = reject_snapshot.snapshot_id and s.group_id = _draft.group_id and s.lane = _draft.lane
            and s.taken_at is not null
    ) then
        perform leases._not_pending(reject_snapshot.lease_id, reject_snapshot.snapshot_id);
    end if;
    return query select c.* from leases.current_snapshot(reject_snapshot.lease_id) as c;
end;
$reject_snapshot$;

comment on function leases.reject_snapshot(bigint, bigint) is
'The lane falls back to the snapshot kept before that one and is settled by it; the holder drops its window and its range in hand. Returns what is current now, if anything; again, it gives the same. Raises lease_lost (LS001), snapshot_not_pending (LS003) for one that was never the lane''s.';

revoke all on function leases.reject_snapshot(bigint, bigint) from public;
grant execute on function leases.reject_snapshot(bigint, bigint) to leases_worker;
