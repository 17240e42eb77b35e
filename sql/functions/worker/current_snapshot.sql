-- The lane's current snapshot.
create or replace function leases.current_snapshot(lease_id bigint)
returns setof leases.snapshot
language plpgsql
rows 1
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $current_snapshot$
-- The log's key tells a caller whose transaction is older than a takeover (40001), though this only looks.
declare
    _draft leases.progress := leases._held(current_snapshot.lease_id, false);
begin
    _draft := leases._log(_draft, 'look');
    return query
    select s.snapshot_id, s.next_id, s.file, s.bytes, s.checksum, s.taken_at
    from leases._current(_draft.group_id, _draft.lane) as s
    where s.snapshot_id is not null;
end;
$current_snapshot$;

comment on function leases.current_snapshot(bigint) is
'Returns the lane''s current snapshot with its size in bytes and its checksum; no row where it has none. Raises lease_lost (LS001).';

revoke all on function leases.current_snapshot(bigint) from public;
grant execute on function leases.current_snapshot(bigint) to leases_worker;
