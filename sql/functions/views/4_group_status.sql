-- Each group and lane that has or had anything to do.
create or replace view leases.group_status as
select
    g.group_id,
    g.name as group_name,
    g.active,
    gl.lane,
    t.lease_id,
    a.node_id,
    n.name as node_name,
    (
        select max(b.granted_at) from leases.grants as b
        where b.node_id = a.node_id
            and b.lease_id = (select max(c.lease_id) from leases.grants as c where c.node_id = a.node_id)
    ) as node_seen_at,
    a.granted_at as leased_at,
    t.heard_at,
    t.moved_at,
    t.lease_id is not null
    and extract(epoch from clock_timestamp() - greatest(t.heard_at, pg_postmaster_start_time(), up.since))
    > extract(epoch from s.ttl) as quiet,
    case when t.lease_id is not null then t.range_id end as range_id,
    coalesce(f.ranges_offered, 0) as ranges_offered,
    coalesce(f.articles_offered, 0)::bigint as articles_offered,
    coalesce(f.ranges_planned, 0) as ranges_planned,
    coalesce(f.articles_planned, 0)::bigint as articles_planned,
    coalesce(f.ranges_parked, 0) as ranges_parked,
    coalesce(f.ranges_done, 0) as ranges_done,
    coalesce(f.headers, 0) as headers,
    k.snapshot_id,
    k.next_id as snapshot_next,
    k.taken_at as snapshot_at
from leases.group_lanes as gl
inner join leases.groups as g on gl.group_id = g.group_id
inner join leases.lanes as s on gl.lane = s.lane
cross join (
    -- C9, as _up_since: seen by superusers and members of pg_read_all_stats
    select max(b.backend_start) as since from pg_stat_activity as b where b.backend_type = 'walwriter'
) as up
left join lateral (
    select p.* from leases.progress as p
    where p.group_id = gl.group_id and p.lane = gl.lane order by p.seq desc limit 1
) as t on true
left join leases.grants as a on t.lease_id = a.lease_id
left join leases.nodes as n on a.node_id = n.node_id
left join lateral (
    select c.snapshot_id, c.next_id, c.taken_at from leases.snapshots as c
    where c.group_id = gl.group_id and c.lane = gl.lane and c.status = 'kept' order by c.snapshot_id desc limit 1
) as k on true
left join (
    select
        y.group_id,
        y.lane,
        sum(y.planned_ranges)::bigint as ranges_planned,
        sum(y.planned_articles) as articles_planned,
        coalesce(sum(y.planned_ranges) filter (where o.is_offered), 0)::bigint as ranges_offered,
        coalesce(sum(y.planned_articles) filter (where o.is_offered), 0) as articles_offered,
        sum(y.parked_ranges)::bigint as ranges_parked,
        sum(y.done_ranges)::bigint as ranges_done,
        sum(y.headers) as headers
    from leases._facts as y
    inner join leases.lanes as c on y.lane = c.lane
    cross join lateral (
        select
            (c.offer_from is null or y.priority >= c.offer_from)
            and (c.offer_to is null or y.priority <= c.offer_to)
            and (y.capture or not c.capture_only) as is_offered
    ) as o
    group by y.group_id, y.lane
) as f on gl.group_id = f.group_id and gl.lane = f.lane;

comment on view leases.group_status is
'A row for each group and lane that has or had anything to do: its holder, its figures as of now, its snapshot.';
comment on column leases.group_status.heard_at is 'When the holder, or the last one, was last heard.';
comment on column leases.group_status.moved_at is
'The last hand-out, finish, resume point or snapshot: a holder that beats but does not move shows.';
comment on column leases.group_status.quiet is 'Whether the holder was not heard of for longer than the lane''s ttl.';
comment on column leases.group_status.range_id is 'The range in hand.';
comment on column leases.group_status.headers is 'The headers of the ranges that are done now.';

grant select on leases.group_status to leases_monitor, leases_admin;
