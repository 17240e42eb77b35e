-- Plan many logs from what their source says of them: what is there at first sight is history, what comes later tail.
create or replace function leases.plan_logs(
    names text[], lows bigint[], highs bigint[], history_priority integer, tail_priority integer default 10,
    tail_last bigint default 0, size bigint default 10000
)
returns setof leases.log_planned
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set plan_cache_mode = force_generic_plan
as $plan_logs$
-- Groups are added in the order of their names and locked in the order of their ids: two planners of one list wait
-- for each other and never deadlock. What a log was seen as is read again under that lock. A high below the one
-- seen plans nothing and moves nothing: a renumbered log is for restart_group.
declare
    _ids bigint[];
    _log record;
    _planned leases.log_planned;
begin
    perform leases._check_logs(plan_logs.names, plan_logs.lows, plan_logs.highs);
    if plan_logs.tail_last is null or plan_logs.tail_last < 0 then
        perform leases._refuse('the number of articles for the tail makes no sense',
            format('Got %s.', coalesce(plan_logs.tail_last::text, 'null')), 'Give 0 or more.');
    end if;
    insert into leases.groups (name)
    select l.name from unnest(plan_logs.names) as l (name)
    where not exists (select from leases.groups as g where g.name = l.name)
    order by l.name
    on conflict do nothing;
    _ids := array(
        select g.group_id from unnest(plan_logs.names, plan_logs.lows, plan_logs.highs) as l (name, low, high)
        join leases.groups as g on g.name = l.name
        left join leases.planning as p on p.group_id = g.group_id
        where p.log_high is null or l.high > p.log_high or (l.high = p.log_high and l.low < p.log_low));
    perform leases._lock_planning(_ids);
    for _log in
        select g.group_id, g.name, l.low, l.high, p.log_high is null as is_new,
            coalesce(p.tail_from, greatest(l.low, l.high + 1 - plan_logs.tail_last)) as tail_from,
            coalesce(p.log_low, l.high + 1) as log_low, coalesce(p.log_high, l.high) as log_high
        from unnest(plan_logs.names, plan_logs.lows, plan_logs.highs) as l (name, low, high)
        join leases.groups as g on g.name = l.name
        join leases.planning as p on p.group_id = g.group_id
        where g.group_id = any(_ids) and (p.log_high is null or l.high >= p.log_high)
        order by g.group_id
    loop
        -- below what is planned already, on either side of the line, and above it
        select _log.group_id, _log.name, _log.is_new,
            coalesce(sum(s.articles) filter (where not s.is_tail), 0),
            coalesce(sum(s.articles) filter (where s.is_tail), 0)
        into _planned
        from (
            select w.is_tail,
                case when w.first_id <= w.last_id then leases.plan_ranges(
                    group_id => _log.group_id, start_id => w.first_id, end_id => w.last_id,
                    priority => w.priority, size => plan_logs.size) end as articles
            from (values
                (false, plan_logs.history_priority, _log.low, least(_log.high, _log.log_low - 1, _log.tail_from - 1)),
                (true, plan_logs.tail_priority, greatest(_log.low, _log.tail_from), least(_log.high, _log.log_low - 1)),
                (true, plan_logs.tail_priority, greatest(_log.low, _log.log_high + 1), _log.high)
            ) as w (is_tail, priority, first_id, last_id)
        ) as s;
        update leases.planning as p
        set tail_from = _log.tail_from, log_high = _log.high,
            log_low = case when _log.low > _log.log_high + 1 then _log.low else least(_log.low, _log.log_low) end
        where p.group_id = _log.group_id;
        return next _planned;
    end loop;
end;
$plan_logs$;

comment on function leases.plan_logs(text[], bigint[], bigint[], integer, integer, bigint, bigint) is
'Plans logs as their source lists them, all or none: a group''s low..high at first sight is history (its last tail_last '
'articles: tail), what lies above the high seen before is tail, what lies below the low seen before and at or below the '
'line between the lanes is history. An empty log (low = high + 1) is remembered. A high below the one seen plans nothing. '
'Adds groups that are not there. Gives a row for each group that is new or changed. Raises invalid_parameter_value (22023).';

revoke all on function leases.plan_logs(text[], bigint[], bigint[], integer, integer, bigint, bigint) from public;
grant execute on function leases.plan_logs(text[], bigint[], bigint[], integer, integer, bigint, bigint)
to leases_planner;
