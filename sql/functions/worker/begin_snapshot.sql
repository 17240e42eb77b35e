-- Begin a snapshot of the window, standing at next_id.
create or replace function leases.begin_snapshot(lease_id bigint, next_id bigint)
returns leases.snapshot_begun
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $begin_snapshot$
-- S1, P2 to P4. Also word of the window, as a heartbeat is (F3).
declare
    _draft leases.progress := leases._held(begin_snapshot.lease_id);
    _id bigint := nextval('leases.snapshot_ids');
    _file text := format('%s-%s-%s-%s.gz', _draft.group_id, _draft.lane, _id, replace(gen_random_uuid()::text, '-', ''));
begin
    perform leases._check_standing(_draft, begin_snapshot.next_id);
    update leases.snapshots as s set status = 'aborted'
        where s.group_id = _draft.group_id and s.lane = _draft.lane and s.status = 'pending';
    insert into leases.snapshots (snapshot_id, group_id, lane, lease_id, next_id, begun_seq, status, file, begun_at)
    values (_id, _draft.group_id, _draft.lane, _draft.lease_id, begin_snapshot.next_id, _draft.seq, 'pending', _file,
        _draft.heard_at);
    perform leases._note_standing(_draft, _id, begin_snapshot.next_id);
    if _draft.range_id is not null and begin_snapshot.next_id > _draft.next_id then
        _draft.next_id := begin_snapshot.next_id;
        _draft.moved_at := _draft.heard_at;
    end if;
    _draft := leases._log(_draft, 'begin snapshot');
    return row(_id, _file)::leases.snapshot_begun;
end;
$begin_snapshot$;

comment on function leases.begin_snapshot(bigint, bigint) is
'Notes where the lane stands and returns the snapshot''s id and the file name to write: relative, never used before. An earlier pending one is aborted. Raises lease_lost (LS001), invalid_parameter_value (22023) for a next_id where no window can stand.';

revoke all on function leases.begin_snapshot(bigint, bigint) from public;
grant execute on function leases.begin_snapshot(bigint, bigint) to leases_worker;
