-- What holders' windows say of ranges beyond leases.ranges: in hand, finished, or put down since the last settle.
create or replace view leases._live as
with top as not materialized (
    select p.*
    from leases.group_lanes as gl
    cross join lateral (
        select q.* from leases.progress as q
        where q.group_id = gl.group_id and q.lane = gl.lane order by q.seq desc limit 1
    ) as p
    where p.lease_id is not null
)

select
    t.group_id, t.lane, t.range_id, 'leased'::text as status, t.next_id, t.attempts, t.rules_version,
    null::timestamptz as done_at, 0::bigint as headers
from top as t
where t.range_id is not null
union all
select
    p.group_id, p.lane, p.finished_id, 'done', null, p.finished_attempts, p.finished_rules, p.moved_at,
    p.finished_headers
from top as t
inner join leases.progress as p
    on t.group_id = p.group_id and t.lane = p.lane and p.seq > t.live_after and p.finished_id is not null
union all
select d.group_id, d.lane, d.range_id, null, d.next_id, null, null, null, 0
from leases.put_down as d
cross join lateral (
    select r.start_id from leases.ranges as r where r.range_id = d.range_id order by r.range_id limit 1
) as r
where d.next_id > r.start_id; -- at its start it was not begun, and may be another lane's by now (N4)

comment on view leases._live is
'A row for each range that a holder''s window knows better than leases.ranges.';
