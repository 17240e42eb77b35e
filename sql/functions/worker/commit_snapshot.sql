-- Make a written snapshot the lane's current one.
create or replace function leases.commit_snapshot(lease_id bigint, snapshot_id bigint, bytes bigint, checksum text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $commit_snapshot$
-- P1, P4, P6.
declare
    _draft leases.progress := leases._held(commit_snapshot.lease_id);
    _snapshot leases.snapshots;
begin
    if commit_snapshot.bytes is null or commit_snapshot.bytes < 0
        or commit_snapshot.checksum is null or commit_snapshot.checksum !~ '^[a-z0-9_]{1,31}:[0-9a-f]{1,255}$' then
        perform leases._refuse('the size or checksum of the snapshot makes no sense',
            format('Got %s bytes, checksum %s.', coalesce(commit_snapshot.bytes::text, 'null'),
                coalesce(quote_literal(left(commit_snapshot.checksum, 80)), 'null')),
            'Give the file''s size in bytes and its checksum as algorithm:hex, in lower case.');
    end if;
    select s.* into _snapshot from leases.snapshots as s
        where s.snapshot_id = commit_snapshot.snapshot_id and s.lease_id = commit_snapshot.lease_id
            and s.status in ('pending', 'kept');
    if not found then
        perform leases._not_pending(commit_snapshot.lease_id, commit_snapshot.snapshot_id);
    end if;
    if _snapshot.status = 'pending' then
        update leases.snapshots as s
            set status = 'kept', bytes = commit_snapshot.bytes, checksum = commit_snapshot.checksum,
                taken_at = _draft.heard_at
            where s.snapshot_id = _snapshot.snapshot_id;
        perform leases._cover(_draft, _snapshot);
        perform leases._supersede(_draft);
        _draft.live_after := _snapshot.begun_seq;
        _draft.moved_at := _draft.heard_at;
    end if;
    _draft := leases._log(leases._trim(_draft), 'commit snapshot');
end;
$commit_snapshot$;

comment on function leases.commit_snapshot(bigint, bigint, bigint, text) is
'Makes the snapshot current; asked again, it changes nothing while the snapshot is current or kept. Raises lease_lost (LS001), snapshot_not_pending (LS003), invalid_parameter_value (22023).';

revoke all on function leases.commit_snapshot(bigint, bigint, bigint, text) from public;
grant execute on function leases.commit_snapshot(bigint, bigint, bigint, text) to leases_worker;
