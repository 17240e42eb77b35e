-- Drop log rows that neither the holder's window nor a snapshot that the lane may return to needs.
create or replace function leases._trim(_draft leases.progress)
returns void
language plpgsql
as $_trim$
begin
    delete from leases.progress as p
    where p.group_id = _draft.group_id and p.lane = _draft.lane
        and p.seq <= least(
            (select min(s.begun_seq) from leases.snapshots as s
             where s.group_id = _draft.group_id and s.lane = _draft.lane and s.status in ('kept', 'pending')),
            _draft.live_after, _draft.seq - 2);
end;
$_trim$;

comment on function leases._trim(leases.progress) is
'Deletes the lane''s log rows that nothing can need any more.';

revoke all on function leases._trim(leases.progress) from public;
