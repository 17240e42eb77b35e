-- Each lane.
create or replace view leases.lane_status as
select
    l.lane,
    l.paused_because is null and not c.is_full as is_open,
    case when l.paused_because is not null then 'paused: ' || l.paused_because
        when c.is_full then 'catalog full' end as closed_because,
    count(s.group_id) filter (where s.lease_id is not null) as groups_held,
    count(s.group_id) filter (where s.quiet) as groups_quiet,
    count(s.group_id) filter (
        where s.active and (s.lease_id is null or s.quiet) and (s.ranges_offered > 0 or w.is_put_back)
    ) as groups_waiting,
    coalesce(sum(s.articles_offered), 0) as articles_offered,
    coalesce(sum(s.ranges_parked), 0)::bigint as ranges_parked
from leases.lanes as l
cross join lateral (
    select l.yields_to_catalog and exists (
        select from leases.catalog as k where k.used_bytes >= k.cap_bytes
    ) as is_full
) as c
left join leases.group_status as s on l.lane = s.lane
left join (
    -- C2: what settling would offer again, if the holder is quiet
    select v.group_id, v.lane, bool_or(
        case v.status
            when 'leased' then (k.is_covered or v.next_id <= r.end_id)
            and (p.max_attempts is null or v.attempts < p.max_attempts)
            when 'done' then k.is_covered
        end
    ) as is_put_back
    from leases._live as v
    inner join leases.ranges as r on v.range_id = r.range_id
    inner join leases.lanes as p on v.lane = p.lane
    cross join lateral (
        select count(*) > 0 as is_covered from leases.snapshots as n
        where n.group_id = v.group_id and n.lane = v.lane and n.status = 'kept'
    ) as k
    where r.status = 'planned'
        and (p.offer_from is null or r.priority >= p.offer_from)
        and (p.offer_to is null or r.priority <= p.offer_to)
        and (r.capture or not p.capture_only)
    group by v.group_id, v.lane
) as w on s.group_id = w.group_id and s.lane = w.lane
group by l.lane, l.paused_because, c.is_full;

comment on view leases.lane_status is
'A row for each lane: whether it grants and why not, how many groups are held, quiet and waiting, its backlog.';
comment on column leases.lane_status.groups_waiting is 'Groups whose lane is free and a candidate.';

grant select on leases.lane_status to leases_monitor, leases_admin;
