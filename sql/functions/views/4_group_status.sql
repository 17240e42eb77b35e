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
    f.ranges_offered,
    f.articles_offered::bigint as articles_offered,
    f.ranges_planned,
    f.articles_planned::bigint as articles_planned,
    f.ranges_parked,
    f.ranges_done,
    f.headers,
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
left join lateral (
    select
        coalesce(sum(x.planned_ranges), 0)::bigint as ranges_planned,
        coalesce(sum(x.planned_articles), 0) as articles_planned,
        coalesce(sum(x.planned_ranges) filter (where x.offered), 0)::bigint as ranges_offered,
        coalesce(sum(x.planned_articles) filter (where x.offered), 0) as articles_offered,
        coalesce(sum(x.parked_ranges), 0)::bigint as ranges_parked,
        coalesce(sum(x.done_ranges), 0)::bigint as ranges_done,
        coalesce(sum(x.headers), 0) as headers
    from (
        select
            y.*,
            (s.offer_from is null or y.priority >= s.offer_from)
            and (s.offer_to is null or y.priority <= s.offer_to)
            and (y.capture or not s.capture_only) as offered
        from leases._facts as y
        where y.group_id = gl.group_id and y.lane = gl.lane
    ) as x
) as f on true;

comment on view leases.group_status is
'A row for each group and lane that has or had anything to do: its holder, its figures as of now, its snapshot.';
comment on column leases.group_status.heard_at is 'When the holder, or the last one, was last heard.';
comment on column leases.group_status.moved_at is
'The last hand-out, finish, resume point or snapshot: a holder that beats but does not move shows.';
comment on column leases.group_status.quiet is 'Whether the holder was not heard of for longer than the lane''s ttl.';
comment on column leases.group_status.range_id is 'The range in hand.';
comment on column leases.group_status.headers is 'The headers of the ranges that are done now.';

grant select on leases.group_status to leases_monitor, leases_admin;
