-- How settling a quiet holder's lane would change what leases.ranges says is planned: articles by priority, signed.
create or replace function leases._unsettled(_state leases.progress, _lane leases.lanes)
returns table (priority integer, capture boolean, articles numeric)
language sql
stable
as $_unsettled$
-- With a snapshot the ranges stand as it covers already; without one, what is done stays done (S6). The range in hand may
-- be parked (F4). One that is back at its start leaves for the lane of its priority (N4): with a snapshot, what was
-- finished since is looked through only if the tallies show that priorities of other bands are in the lane.
    with lane as materialized (
        select
            (leases._current((_state).group_id, (_state).lane)).snapshot_id is not null as is_covered,
            exists (
                select from leases.tallies as y
                where y.group_id = (_state).group_id and y.lane = (_state).lane and y.planned_ranges <> 0
                    and not leases._in_band(_lane, y.priority))
            or exists (
                select from leases.notes as n
                where n.group_id = (_state).group_id and n.lane = (_state).lane and n.planned_ranges <> 0
                    and not leases._in_band(_lane, n.priority)) as may_leave
    )
    select r.priority, r.capture,
        case when w.stands is null or leases._lane_at(_lane, r, w.stands) <> r.lane
            then -(r.end_id - r.next_id + 1)
            else r.next_id - w.stands end::numeric
    from (
        select p.finished_id as range_id, null::bigint as stands, false as is_parked from leases.progress as p
        where p.group_id = (_state).group_id and p.lane = (_state).lane and p.seq > (_state).live_after
            and p.finished_id is not null and (select l.may_leave or not l.is_covered from lane as l)
        union all
        select (_state).range_id, (_state).next_id, coalesce((_state).attempts >= (_lane).max_attempts, false)
        union all
        select d.range_id, d.next_id, false from leases.put_down as d
        where d.group_id = (_state).group_id and d.lane = (_state).lane
    ) as v
    join leases.ranges as r on r.range_id = v.range_id
    cross join lateral (
        select case when v.is_parked then null when (select l.is_covered from lane as l) then r.next_id
            else v.stands end as stands
    ) as w
    where r.status = 'planned' and r.lane = (_state).lane;
$_unsettled$;

comment on function leases._unsettled(leases.progress, leases.lanes) is
'What settling would add to or take from the lane''s planned articles, by priority and capture.';

revoke all on function leases._unsettled(leases.progress, leases.lanes) from public;
