-- Add up the notes of these groups' lane and bring their rows of the choice up to date.
create or replace function leases._refresh(_lane leases.lanes, _group_ids bigint[])
returns void
language plpgsql
as $_refresh$
-- The caller holds the rows of choices, and whoever does is the only one to add up notes. The figures are read in a
-- statement after that lock.
begin
    if exists (select from leases.notes as n where n.lane = _lane.lane and n.group_id = any(_group_ids)) then
        with added as (
            delete from leases.notes as n
            where n.lane = _lane.lane and n.group_id = any(_group_ids)
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
    update leases.choices as c
    set group_priority = f.group_priority, best_priority = f.best_priority, articles = f.articles,
        held = f.lease_id is not null, heard_at = f.heard_at,
        is_open = f.lease_id is null and f.is_active and f.best_priority is not null
    from leases._figures(_lane, _group_ids) as f
    where c.lane = _lane.lane and c.group_id = f.group_id;
    delete from leases.unheld as u
    using leases.choices as c
    where u.lane = _lane.lane and u.group_id = any(_group_ids)
        and c.lane = u.lane and c.group_id = u.group_id and not c.is_open;
    insert into leases.unheld as u (group_id, lane, best_priority, group_priority, heard_at)
    select c.group_id, c.lane, c.best_priority, c.group_priority, c.heard_at
    from leases.choices as c
    where c.lane = _lane.lane and c.group_id = any(_group_ids) and c.is_open
    on conflict on constraint unheld_pkey do update
    set best_priority = excluded.best_priority, group_priority = excluded.group_priority, heard_at = excluded.heard_at
    where (u.best_priority, u.group_priority) is distinct from (excluded.best_priority, excluded.group_priority);
end;
$_refresh$;

comment on function leases._refresh(leases.lanes, bigint[]) is
'Adds up the notes of those groups'' lane and rewrites their rows of choices.';

revoke all on function leases._refresh(leases.lanes, bigint[]) from public;
