-- Cover start_id..end_id with ranges, where none covers it yet.
create or replace function leases.plan_ranges(
    group_id bigint, start_id bigint, end_id bigint, priority integer, capture boolean default false,
    size bigint default 10000
)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set leases.internal = 'plan'
as $plan_ranges$
-- L1, L4. The gaps are read in a statement after the planning lock, so what another planner committed meanwhile counts.
declare
    _first bigint;
    _planned numeric;
begin
    if plan_ranges.priority is null or plan_ranges.capture is null or plan_ranges.size is null
        or plan_ranges.size < 1 then
        perform leases._refuse('the plan makes no sense',
            format('Got priority %s, capture %s, size %s.', coalesce(plan_ranges.priority::text, 'null'),
                coalesce(plan_ranges.capture::text, 'null'), coalesce(plan_ranges.size::text, 'null')),
            'Give a priority, a capture flag, and a size of at least one article.');
    elsif not exists (select from leases.groups as g where g.group_id = plan_ranges.group_id) then
        perform leases._not_found('group', plan_ranges.group_id::text);
    elsif not leases._check_span(plan_ranges.start_id, plan_ranges.end_id) then
        return 0;
    elsif (plan_ranges.end_id - plan_ranges.start_id) / plan_ranges.size >= 10000000 then
        perform leases._refuse('the plan is too long for one call',
            format('%s..%s in ranges of %s would be over 10,000,000 ranges.', plan_ranges.start_id, plan_ranges.end_id,
                plan_ranges.size), 'Give a larger size, or plan a part of it.');
    end if;
    perform leases._lock_planning(array[plan_ranges.group_id]);
    -- Not max(): with no or old statistics that is planned as a walk through all ranges below.
    _first := coalesce((
        select r.start_id from leases.ranges as r
        where r.group_id = plan_ranges.group_id and r.start_id <= plan_ranges.start_id
        order by r.start_id desc limit 1), plan_ranges.start_id);
    with taken as (
        select r.start_id, r.end_id, lag(r.end_id) over (order by r.start_id) as before_id
        from leases.ranges as r
        where r.group_id = plan_ranges.group_id and r.start_id between _first and plan_ranges.end_id
            and r.end_id >= plan_ranges.start_id
    ),
    gaps as (
        select coalesce(t.before_id + 1, plan_ranges.start_id) as gap_from, t.start_id - 1 as gap_to from taken as t
        union all
        select coalesce(max(t.end_id) + 1, plan_ranges.start_id), plan_ranges.end_id from taken as t
    ),
    pieces as (
        select p.start_id, case when g.gap_to - p.start_id < plan_ranges.size then g.gap_to
            else p.start_id + plan_ranges.size - 1 end as end_id
        from gaps as g
        cross join lateral generate_series(g.gap_from, g.gap_to, plan_ranges.size) as p (start_id)
        where g.gap_from <= g.gap_to
    ),
    planned as (
        insert into leases.ranges as n (group_id, start_id, end_id, next_id, priority, capture, lane)
        select plan_ranges.group_id, p.start_id, p.end_id, p.start_id, plan_ranges.priority, plan_ranges.capture,
            (select leases._home_lane(plan_ranges.priority))
        from pieces as p order by p.start_id
        returning n.end_id - n.start_id + 1 as articles
    )
    select coalesce(sum(n.articles), 0) into _planned from planned as n;
    return _planned;
end;
$plan_ranges$;

comment on function leases.plan_ranges(bigint, bigint, bigint, integer, boolean, bigint) is
'Covers start_id..end_id with ranges of at most size articles, skipping what any range of the group covers, and returns how many articles this call planned. start_id = end_id + 1 plans nothing. Raises not_found (LS005), invalid_parameter_value (22023).';

revoke all on function leases.plan_ranges(bigint, bigint, bigint, integer, boolean, bigint) from public;
grant execute on function leases.plan_ranges(bigint, bigint, bigint, integer, boolean, bigint) to leases_planner;
