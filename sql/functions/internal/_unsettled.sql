-- How settling a quiet holder's lane would change what leases.ranges says is planned: articles by priority, signed.
create or replace function leases._unsettled(_state leases.progress, _lane leases.lanes)
returns table (priority integer, capture boolean, articles numeric)
language sql
stable
as $_unsettled$
-- With a snapshot the ranges stand as it covers already; without one, what is done stays done (S6). The range in hand may
-- be parked (F4). One that is back at its start leaves for the lane of its priority (N4): with a snapshot, what was
-- finished since is looked through only if the tallies show that priorities of other bands are in the lane.
    select (f.r).priority, (f.r).capture,
        case when f.stands is null or leases._lane_at(_lane, f.r, f.stands) <> (f.r).lane
            then -((f.r).end_id - (f.r).next_id + 1)
            else (f.r).next_id - f.stands end::numeric
    from (
        select (leases._current((_state).group_id, (_state).lane)).snapshot_id is not null as is_covered offset 0
    ) as c
    cross join lateral (
        select p.finished_id as range_id, null::bigint as stands, false as is_parked from leases.progress as p
        where p.group_id = (_state).group_id and p.lane = (_state).lane and p.seq > (_state).live_after
            and p.finished_id is not null
            and (not c.is_covered or leases._has_others((_state).group_id, _lane))
        union all
        select (_state).range_id, (_state).next_id, coalesce((_state).attempts >= (_lane).max_attempts, false)
        union all
        select d.range_id, d.next_id, false from leases.put_down as d
        where d.group_id = (_state).group_id and d.lane = (_state).lane
    ) as v
    cross join lateral (
        select q as r,
            case when v.is_parked then null when c.is_covered then q.next_id else v.stands end as stands
        from leases.ranges as q where q.range_id = v.range_id order by q.range_id limit 1 -- by key, whatever the statistics
    ) as f
    where (f.r).status = 'planned' and (f.r).lane = (_state).lane;
$_unsettled$;

comment on function leases._unsettled(leases.progress, leases.lanes) is
'What settling would add to or take from the lane''s planned articles, by priority and capture.';

revoke all on function leases._unsettled(leases.progress, leases.lanes) from public;
