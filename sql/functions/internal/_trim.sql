-- Drop log rows that neither the holder's window nor a snapshot that the lane may return to needs.
create or replace function leases._trim(_draft leases.progress)
returns void
language sql
begin atomic
    delete from leases.progress as p
    where p.group_id = (_draft).group_id and p.lane = (_draft).lane
        and p.seq <= (_draft).live_after and p.seq < (_draft).seq - 1
        and p.seq <= coalesce((
            select min(s.begun_seq) from leases.snapshots as s
            where s.group_id = (_draft).group_id and s.lane = (_draft).lane and s.status in ('kept', 'pending')
        ), p.seq);
end;

comment on function leases._trim(leases.progress) is
'Deletes the lane''s log rows that nothing can need any more.';

revoke all on function leases._trim(leases.progress) from public;
