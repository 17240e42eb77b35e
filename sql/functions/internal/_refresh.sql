-- Add up the notes of a group's lane and bring its row of the choice up to date.
create or replace function leases._refresh(_lane leases.lanes, _group_id bigint)
returns void
language plpgsql
as $_refresh$
-- The caller holds the row of choices, and whoever does is the only one to add up notes. The figures are read in a
-- statement after that lock. One group a call: only by their whole key are rows found as fast whatever the lane's size.
declare
    _figures record;
    _is_open boolean;
begin
    if exists (select from leases.notes as n where n.lane = _lane.lane and n.group_id = _group_id) then
        with added as (
            delete from leases.notes as n
            where n.lane = _lane.lane and n.group_id = _group_id
            returning n.*
        )
        insert into leases.tallies as t (group_id, lane, priority, capture, planned_ranges, planned_articles,
            parked_ranges, done_ranges, headers)
        select a.group_id, a.lane, a.priority, a.capture, sum(a.planned_ranges), sum(a.planned_articles),
            sum(a.parked_ranges), sum(a.done_ranges), sum(a.headers)
        from added as a
        where a.priority is not null
        group by a.group_id, a.lane, a.priority, a.capture
        on conflict on constraint tallies_pkey do update
        set planned_ranges = t.planned_ranges + excluded.planned_ranges,
            planned_articles = t.planned_articles + excluded.planned_articles,
            parked_ranges = t.parked_ranges + excluded.parked_ranges,
            done_ranges = t.done_ranges + excluded.done_ranges,
            headers = t.headers + excluded.headers;
    end if;
    select f.* into _figures from leases._figures(_lane, array[_group_id]) as f;
    _is_open := _figures.lease_id is null and _figures.is_active and _figures.best_priority is not null;
    update leases.choices as c
    set group_priority = _figures.group_priority, best_priority = _figures.best_priority,
        articles = _figures.articles, held = _figures.lease_id is not null, heard_at = _figures.heard_at,
        is_open = _is_open
    where c.group_id = _group_id and c.lane = _lane.lane;
    if _is_open then
        insert into leases.unheld as u (group_id, lane, best_priority, group_priority, heard_at)
        values (_group_id, _lane.lane, _figures.best_priority, _figures.group_priority, _figures.heard_at)
        on conflict on constraint unheld_pkey do update
        set best_priority = excluded.best_priority, group_priority = excluded.group_priority,
            heard_at = excluded.heard_at
        where (u.best_priority, u.group_priority) is distinct from (excluded.best_priority, excluded.group_priority);
    else
        delete from leases.unheld as u where u.group_id = _group_id and u.lane = _lane.lane;
    end if;
end;
$_refresh$;

comment on function leases._refresh(leases.lanes, bigint) is
'Adds up the notes of that group''s lane and rewrites its row of choices.';

revoke all on function leases._refresh(leases.lanes, bigint) from public;
