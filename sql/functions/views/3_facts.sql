-- Figures of each group and lane by priority and capture: tallies, notes not yet added up, and the holders' windows.
create or replace view leases._facts as
select y.group_id, y.lane, y.priority, y.capture, y.planned_ranges, y.planned_articles, y.parked_ranges,
    y.done_ranges, y.headers
from leases.tallies as y
union all
select n.group_id, n.lane, n.priority, n.capture, n.planned_ranges, n.planned_articles, n.parked_ranges,
    n.done_ranges, n.headers
from leases.notes as n
where n.priority is not null
union all
select s.group_id, s.lane, s.priority, s.capture,
    case when s.status = 'planned' then s.sign else 0 end,
    case when s.status = 'planned' then s.sign * (s.end_id - s.next_id + 1)::numeric else 0 end,
    case when s.status = 'parked' then s.sign else 0 end,
    case when s.status = 'done' then s.sign else 0 end,
    s.sign * s.headers
from (
    select l.group_id, l.lane, 1 as sign, coalesce(l.status, r.status) as status,
        coalesce(l.next_id, r.next_id) as next_id, r.end_id, r.priority, r.capture, l.headers
    from leases._live as l
    cross join lateral (
        select q.* from leases.ranges as q where q.range_id = l.range_id order by q.range_id limit 1
    ) as r
    union all
    select l.group_id, r.lane, -1, r.status, r.next_id, r.end_id, r.priority, r.capture, r.headers
    from leases._live as l
    cross join lateral (
        select q.* from leases.ranges as q where q.range_id = l.range_id order by q.range_id limit 1
    ) as r
) as s;

comment on view leases._facts is
'Signed figures that sum to what is planned, parked and done now, by group, lane, priority and capture.';
