-- L3: note what changed for the choice, and tell the holder where something new may lie below its cursor.
create or replace function leases._note(_came leases.range_change[], _went leases.range_change[], _knowing text[])
returns void
language plpgsql
as $_note$
-- Only inserts, so that a planner's open transaction and a holder never wait for each other (L2). The holders of some
-- lanes know what came: it is their doing.
begin
    perform leases._add_lanes(array_agg(c.group_id), array_agg(c.lane))
        from (select distinct c.group_id, c.lane from unnest(_came) as c) as c having count(*) > 0;
    insert into leases.notes (group_id, lane, priority, capture, planned_ranges, planned_articles, parked_ranges,
        done_ranges, headers)
    select c.group_id, c.lane, c.priority, c.capture,
        coalesce(sum(c.ranges) filter (where c.status = 'planned'), 0),
        coalesce(sum(c.articles) filter (where c.status = 'planned'), 0),
        coalesce(sum(c.ranges) filter (where c.status = 'parked'), 0),
        coalesce(sum(c.ranges) filter (where c.status = 'done'), 0),
        sum(c.headers)
    from unnest(_came || _went) as c
    group by c.group_id, c.lane, c.priority, c.capture
    having bool_or(c.status <> 'planned') or sum(c.articles) <> 0 or sum(c.ranges) <> 0;
    insert into leases.rewinds (group_id, lane, start_id)
    select c.group_id, c.lane, min(c.start_id) from unnest(_came) as c
    where c.status = 'planned' and c.lane <> '' and c.lane <> all (_knowing)
    group by c.group_id, c.lane;
end;
$_note$;

comment on function leases._note(leases.range_change[], leases.range_change[], text[]) is
'Notes the figures of ranges that came and went, and a rewind for the holders of lanes that do not know of it.';

revoke all on function leases._note(leases.range_change[], leases.range_change[], text[]) from public;
