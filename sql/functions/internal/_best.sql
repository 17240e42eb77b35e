-- C3: the best candidate by the order whose turn it is, of those not tried.
create or replace function leases._best(
    _lane leases.lanes, _others leases.candidate[], _tried bigint[], _biggest boolean
)
returns bigint
language plpgsql
stable
as $_best$
-- _others stands beside the index: their rows of the choice are not up to date, or their holder is quiet.
declare
    _hidden bigint[] := _tried || array(select o.group_id from unnest(_others) as o);
    _best leases.candidate;
begin
    if _biggest then
        select c.group_id, c.best_priority, c.articles, c.heard_at, c.group_priority into _best
        from leases.choices as c
        where c.lane = _lane.lane and c.is_open
            and c.group_id not in (select h.group_id from unnest(_hidden) as h (group_id))
        order by c.best_priority, c.articles desc, c.group_priority, c.group_id limit 1;
    else
        select c.group_id, c.best_priority, c.articles, c.heard_at, c.group_priority into _best
        from leases.choices as c
        where c.lane = _lane.lane and c.is_open
            and c.group_id not in (select h.group_id from unnest(_hidden) as h (group_id))
        order by c.best_priority, c.heard_at nulls first, c.group_priority, c.group_id limit 1;
    end if;
    if cardinality(_others) > 0 then
        select o.* into _best
        from unnest(_others || _best) as o
        where o.group_id is not null
            and o.group_id not in (select t.group_id from unnest(_tried) as t (group_id))
        order by o.best_priority, case when _biggest then o.articles end desc,
            case when not _biggest then o.heard_at end nulls first, o.group_priority, o.group_id
        limit 1;
    end if;
    return _best.group_id;
end;
$_best$;

comment on function leases._best(leases.lanes, leases.candidate[], bigint[], boolean) is
'The group that the turn''s order puts first, or null.';

revoke all on function leases._best(leases.lanes, leases.candidate[], bigint[], boolean) from public;
