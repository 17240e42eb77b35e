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
left join lateral (
    -- C2: what settling a quiet holder's lane would offer again
    select exists(
        select from leases._live as v
        inner join leases.ranges as r on v.range_id = r.range_id
        where v.group_id = s.group_id and v.lane = s.lane and s.quiet and r.status = 'planned'
            and (l.offer_from is null or r.priority >= l.offer_from)
            and (l.offer_to is null or r.priority <= l.offer_to)
            and (r.capture or not l.capture_only)
            and case v.status
                when 'leased' then (s.snapshot_id is not null or v.next_id <= r.end_id)
                and (l.max_attempts is null or v.attempts < l.max_attempts)
                when 'done' then s.snapshot_id is not null
            end
    ) as is_put_back
) as w on true
group by l.lane, l.paused_because, c.is_full;

comment on view leases.lane_status is
'A row for each lane: whether it grants and why not, how many groups are held, quiet and waiting, its backlog.';
comment on column leases.lane_status.groups_waiting is 'Groups whose lane is free and a candidate.';

grant select on leases.lane_status to leases_monitor, leases_admin;
