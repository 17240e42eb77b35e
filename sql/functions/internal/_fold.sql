-- Write what the log says was finished (after _from, up to _upto) into the ranges: it stays done from now on.
create or replace function leases._fold(_group_id bigint, _lane text, _from bigint, _upto bigint)
returns void
language plpgsql
set leases.internal = 'on'
as $_fold$
begin
    update leases.ranges as r
    set status = 'done', next_id = r.end_id + 1, done_at = p.moved_at, done_by = p.lease_id,
        headers = p.finished_headers, attempts = p.finished_attempts, rules_version = p.finished_rules,
        lane = _lane, moved = false
    from leases.progress as p
    where p.group_id = _group_id and p.lane = _lane and p.seq > _from and p.seq <= _upto
        and r.range_id = p.finished_id;
end;
$_fold$;

comment on function leases._fold(bigint, text, bigint, bigint) is
'Marks as done what the lane''s log says was finished in that stretch.';

revoke all on function leases._fold(bigint, text, bigint, bigint) from public;
