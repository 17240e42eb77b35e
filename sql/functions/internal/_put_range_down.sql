-- F4: keep the reason on the range, and where the holder's window stands in it.
create or replace function leases._put_range_down(_draft leases.progress, _reason text)
returns void
language plpgsql
set leases.internal = 'on'
as $_put_range_down$
declare
    _lane leases.lanes := leases._lane(_draft.lane);
begin
    if _draft.next_id > _draft.end_id then -- nothing is left of it: only the reason is kept
        update leases.ranges as r set last_error = _reason where r.range_id = _draft.range_id;
        return;
    end if;
    update leases.ranges as r
    set last_error = _reason, attempts = _draft.attempts, rules_version = _draft.rules_version,
        next_id = case when (leases._current(_draft.group_id, _draft.lane)).snapshot_id is null
            then _draft.next_id else r.next_id end,
        lane = leases._lane_at(_lane, r, _draft.next_id),
        status = case when _draft.attempts >= _lane.max_attempts then 'parked' else 'planned' end
    where r.range_id = _draft.range_id and r.status <> 'done';
    insert into leases.put_down as d (group_id, lane, range_id, next_id)
    values (_draft.group_id, _draft.lane, _draft.range_id, _draft.next_id)
    on conflict on constraint put_down_pkey do update set next_id = excluded.next_id;
end;
$_put_range_down$;

comment on function leases._put_range_down(leases.progress, text) is
'Writes a failed range down: planned again or parked, with the reason and the resume point.';

revoke all on function leases._put_range_down(leases.progress, text) from public;
