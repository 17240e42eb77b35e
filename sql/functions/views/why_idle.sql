-- Each reason that lease_group would give nothing now.
create or replace function leases.why_idle(lane text, group_id bigint default null)
returns setof leases.idle_reason
language plpgsql
stable
security definer
set search_path = pg_catalog, leases, pg_temp
set jit = off
as $why_idle$
declare
    _lane leases.lanes := leases._lane(why_idle.lane);
    _closed text := leases._closed_because(_lane);
begin
    if why_idle.group_id is not null
        and not exists (select from leases.groups as g where g.group_id = why_idle.group_id) then
        perform leases._not_found('group', why_idle.group_id::text);
    end if;
    if _closed like 'paused%' then
        return next row(_closed, null, null, format('resume_lane(%L) opens it.', _lane.lane))::leases.idle_reason;
    elsif _closed is not null then
        return next row(_closed, null, null,
            'The lane yields to the catalog: make room and report_catalog, or set yields_to_catalog off.'
            )::leases.idle_reason;
    end if;
    if _closed is null and exists (
        select from leases._figures(_lane, array(
            select gl.group_id from leases.group_lanes as gl
            where gl.lane = why_idle.lane and (why_idle.group_id is null or gl.group_id = why_idle.group_id))) as f
        where f.is_active and f.best_priority is not null
            and (f.lease_id is null or leases._is_quiet(f.heard_at, _lane.ttl))
    ) then
        return;
    end if;
    return query
    with s as (
        select v.* from leases.group_status as v
        where v.lane = why_idle.lane and (why_idle.group_id is null or v.group_id = why_idle.group_id)
    ),
    facts as (
        select f.* from leases._facts as f join s on s.group_id = f.group_id
        where f.lane = why_idle.lane and f.planned_ranges <> 0
    )
    select 'held by ' || coalesce(s.node_name, '?'), count(*), sum(s.ranges_offered)::bigint,
        'Its holder is heard of: wait for the give-back, or end_lease.'
    from s where s.lease_id is not null and not s.quiet
    group by s.node_name having count(*) > 0
    union all
    select 'inactive', count(*), sum(s.ranges_planned)::bigint, 'add_group(name, active => true) opens a group.'
    from s where not s.active and s.ranges_planned > 0 having count(*) > 0
    union all
    select 'outside the offer bounds', count(distinct f.group_id), sum(f.planned_ranges)::bigint,
        'Widen offer_from and offer_to of the lane in leases.lanes.'
    from facts as f
    where f.priority < _lane.offer_from or f.priority > _lane.offer_to having sum(f.planned_ranges) > 0
    union all
    select 'not captured', count(distinct f.group_id), sum(f.planned_ranges)::bigint,
        'The lane hands out capture ranges only: set capture_only off, or plan with capture => true.'
    from facts as f
    where _lane.capture_only and not f.capture having sum(f.planned_ranges) > 0
    union all
    select 'parked', count(*), sum(s.ranges_parked)::bigint, 'See last_error in range_status, then retry_range.'
    from s where s.ranges_parked > 0 having count(*) > 0;
    if not exists (
        select from leases.group_status as v
        where v.lane = why_idle.lane and (why_idle.group_id is null or v.group_id = why_idle.group_id)
            and v.ranges_planned > 0
    ) then
        return next row('nothing planned', (
            select count(*) from leases.groups as g where why_idle.group_id is null or g.group_id = why_idle.group_id
        ), 0, 'plan_ranges adds ranges.')::leases.idle_reason;
    end if;
end;
$why_idle$;

comment on function leases.why_idle(text, bigint) is
'Returns a row for each reason that lease_group would give nothing now, for that group if named: paused, catalog full, held and by whom, inactive, outside the offer bounds, not captured, parked, nothing planned; with how many groups and ranges, and what to do. Raises not_found (LS005).';

revoke all on function leases.why_idle(text, bigint) from public;
grant execute on function leases.why_idle(text, bigint) to leases_monitor, leases_admin;
