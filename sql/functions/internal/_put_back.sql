-- Put the range in hand back: planned at its resume point, done where nothing is left of it, or parked.
create or replace function leases._put_back(_draft leases.progress, _next_id bigint, _park boolean)
returns void
language plpgsql
set leases.internal = 'on'
as $_put_back$
-- A null resume point leaves the range where the snapshot has it. Back at its start, a range belongs to the lane of
-- its priority again (N4).
begin
    update leases.ranges as r
    set next_id = n.next_id, attempts = _draft.attempts, rules_version = _draft.rules_version,
        status = case when n.next_id > r.end_id then 'done' when _park then 'parked' else 'planned' end,
        done_at = case when n.next_id > r.end_id then coalesce(r.done_at, leases._now()) end,
        lane = case when n.next_id = r.start_id then leases._home_lane(r.priority) else _draft.lane end,
        last_error = case when _park and n.next_id <= r.end_id
            then coalesce(r.last_error || '; ', '') || 'its holder went quiet at attempt ' || _draft.attempts
            else r.last_error end
    from (select r2.range_id, coalesce(_next_id, r2.next_id) as next_id
          from leases.ranges as r2 where r2.range_id = _draft.range_id) as n
    where r.range_id = n.range_id;
end;
$_put_back$;

comment on function leases._put_back(leases.progress, bigint, boolean) is
'Puts the range in hand back at that resume point, or parks it.';

revoke all on function leases._put_back(leases.progress, bigint, boolean) from public;
