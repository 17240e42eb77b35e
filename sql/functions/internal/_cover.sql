-- Make leases.ranges say what that snapshot covers (S2 to S5).
create or replace function leases._cover(_draft leases.progress, _snapshot leases.snapshots)
returns void
language plpgsql
set leases.internal = 'on'
as $_cover$
-- What was handed out since the snapshot was begun, or has a standing point in it, stands there again, however far the
-- ranges had followed. A range that another lane has handed out since is not this lane's to touch. While the holder's
-- window has them they stay in the lane; falling back, there is none.
declare
    _lane leases.lanes := leases._lane(_draft.lane);
    _is_lost boolean := _draft.high_id < 0;
begin
    perform leases._fold(_draft.group_id, _draft.lane, _draft.live_after, _snapshot.begun_seq);
    update leases.ranges as r
    set next_id = n.next_id,
        status = case when n.next_id > r.end_id then 'done' when r.status = 'parked' then 'parked' else 'planned' end,
        done_at = case when n.next_id > r.end_id then coalesce(r.done_at, leases._now()) end,
        done_by = null,
        headers = 0,
        attempts = case when r.done_by is not null then 0 else r.attempts end,
        lane = case when _is_lost then leases._lane_at(_lane, r, n.next_id) else r.lane end
    from (
        select r2.range_id, coalesce(max(t.next_id), r2.start_id) as next_id
        from (
            select p.range_id, null::bigint as next_id from leases.progress as p
            where p.group_id = _draft.group_id and p.lane = _draft.lane and p.seq > _snapshot.begun_seq
            union all
            select sp.range_id, sp.next_id from leases.standing_points as sp
            where sp.snapshot_id = _snapshot.snapshot_id
        ) as t
        join leases.ranges as r2 on r2.range_id = t.range_id
        group by r2.range_id
    ) as n
    where r.range_id = n.range_id and r.lane = _draft.lane and r.group_id = _draft.group_id
        and (r.next_id <> n.next_id or (r.status = 'done') <> (n.next_id > r.end_id) or r.headers <> 0);
end;
$_cover$;

comment on function leases._cover(leases.progress, leases.snapshots) is
'Brings the lane''s ranges to what the snapshot covers: finished before it stays done, all since stands as it noted.';

revoke all on function leases._cover(leases.progress, leases.snapshots) from public;
