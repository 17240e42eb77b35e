-- What the choice reads of these groups' lane, computed: backlog as if settled (C1, C2), holder, last heard.
create or replace function leases._figures(_lane leases.lanes, _group_ids bigint[])
returns table (
    group_id bigint, group_priority integer, is_active boolean, best_priority integer, articles bigint,
    lease_id bigint, heard_at timestamptz
)
language sql
stable
as $_figures$
    select g.group_id, g.priority, g.active, f.best_priority, coalesce(f.articles, 0)::bigint, top.lease_id, top.heard_at
    from leases.groups as g
    left join lateral (
        select p.* from leases.progress as p
        where p.group_id = g.group_id and p.lane = (_lane).lane order by p.seq desc limit 1
    ) as top on true
    left join lateral (
        select min(t.priority) filter (where t.planned > 0) as best_priority, sum(t.planned) as articles
        from (
            select b.priority, sum(b.planned_articles) as planned
            from (
                select y.priority, y.capture, y.planned_articles from leases.tallies as y
                where y.group_id = g.group_id and y.lane = (_lane).lane
                union all
                select n.priority, n.capture, n.planned_articles from leases.notes as n
                where n.group_id = g.group_id and n.lane = (_lane).lane and n.priority is not null
                union all
                select u.priority, u.capture, u.articles from leases._unsettled(top, _lane) as u
                where top.lease_id is not null
            ) as b
            where leases._offers(_lane, b.priority, b.capture)
            group by b.priority
        ) as t
    ) as f on true
    where g.group_id = any(_group_ids);
$_figures$;

comment on function leases._figures(leases.lanes, bigint[]) is
'A row for each of the groups: its most urgent offered priority and offered articles as if settled, and its holder.';

revoke all on function leases._figures(leases.lanes, bigint[]) from public;
