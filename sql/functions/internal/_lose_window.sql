-- What the lane's holder had read and no snapshot covers is planned again.
create or replace function leases._lose_window(_draft leases.progress, _quiet boolean)
returns void
language plpgsql
set leases.internal = 'on'
as $_lose_window$
-- With a snapshot, leases.ranges already holds what it covers (commit_snapshot keeps it so): settling forgets the log
-- after it. Without one (S6) what is done stays done, and the range in hand stands at its resume point.
declare
    _lane leases.lanes := leases._lane(_draft.lane);
    _covered boolean := (leases._current(_draft.group_id, _draft.lane)).snapshot_id is not null;
    _max_attempts integer := case when _quiet then _lane.max_attempts end;
begin
    if _covered then
        -- F4: a finished range that is put back did nothing wrong
        update leases.ranges as r set attempts = 0, lane = leases._lane_at(_lane, r, r.next_id)
        from leases.progress as p
        where p.group_id = _draft.group_id and p.lane = _draft.lane and p.seq > _draft.live_after
            and r.range_id = p.finished_id and r.lane = p.lane and r.status <> 'done'
            and (r.attempts <> 0 or r.lane <> leases._lane_at(_lane, r, r.next_id));
    else
        perform leases._fold(_draft.group_id, _draft.lane, _draft.live_after, _draft.seq - 1);
        update leases.ranges as r set next_id = d.next_id
        from leases.put_down as d
        where d.group_id = _draft.group_id and d.lane = _draft.lane and r.range_id = d.range_id
            and r.lane = d.lane and r.status <> 'done' and r.next_id <> d.next_id;
    end if;
    update leases.ranges as r set lane = leases._lane_at(_lane, r, r.next_id)
    from leases.put_down as d
    where d.group_id = _draft.group_id and d.lane = _draft.lane and r.range_id = d.range_id
        and r.lane = d.lane and r.status <> 'done' and r.lane <> leases._lane_at(_lane, r, r.next_id);
    perform leases._put_back(_draft, case when not _covered then _draft.next_id end, _draft.attempts >= _max_attempts);
    delete from leases.put_down as d where d.group_id = _draft.group_id and d.lane = _draft.lane;
end;
$_lose_window$;

comment on function leases._lose_window(leases.progress, boolean) is
'Brings the ranges that the holder touched back to what would stand without its window.';

revoke all on function leases._lose_window(leases.progress, boolean) from public;
