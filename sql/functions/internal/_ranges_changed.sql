-- After a statement changed leases.ranges, whoever did it: guard against overlap (L1), note the figures (L3).
create or replace function leases._ranges_changed()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set plan_cache_mode = force_generic_plan
as $_ranges_changed$
-- Each trigger names what came new_rows and what went old_rows; the other one is empty here. Those 'by us' fire where our
-- own functions write (see _ranges_checked), for they know what they do.
declare
    _by_us boolean := tg_nargs > 0;
    _came leases.range_change[] := array[]::leases.range_change[];
    _went leases.range_change[] := array[]::leases.range_change[];
begin
    if tg_op <> 'DELETE' then
        _came := array(
            select row(n.group_id, n.lane, n.priority, n.capture, n.status, count(*),
                sum(n.end_id - n.next_id + 1), sum(n.headers), min(n.start_id))::leases.range_change
            from new_rows as n group by n.group_id, n.lane, n.priority, n.capture, n.status);
    end if;
    if tg_op <> 'INSERT' then
        _went := array(
            select row(o.group_id, o.lane, o.priority, o.capture, o.status, -count(*),
                -sum(o.end_id - o.next_id + 1), -sum(o.headers), null)::leases.range_change
            from old_rows as o group by o.group_id, o.lane, o.priority, o.capture, o.status);
    end if;
    if cardinality(_came) + cardinality(_went) = 0 then
        return null;
    end if;
    if tg_op = 'INSERT' and not _by_us then
        perform leases._lock_planning(array(select c.group_id from unnest(_came) as c));
        perform leases._no_overlap(array(select n.range_id from new_rows as n));
    elsif tg_op = 'UPDATE' and not _by_us then
        if exists (
            select from new_rows as n left join old_rows as o on o.range_id = n.range_id
            where (n.group_id, n.start_id, n.end_id) is distinct from (o.group_id, o.start_id, o.end_id)
        ) then
            perform leases._lock_planning(array(select c.group_id from unnest(_came) as c));
            perform leases._no_overlap(array(select n.range_id from new_rows as n));
        end if;
    end if;
    perform leases._note(_came, _went,
        case when tg_op = 'UPDATE' and _by_us then array(select distinct w.lane from unnest(_went) as w) else '{}' end);
    return null;
end;
$_ranges_changed$;

comment on function leases._ranges_changed() is
'Trigger: refuses overlapping ranges (LS004) and notes what changed for the choice and for the holder.';

revoke all on function leases._ranges_changed() from public;

create or replace trigger ranges_inserted after insert on leases.ranges
referencing new table as new_rows
for each statement when (
    current_setting('leases.internal', true) is distinct from 'plan'
    or not has_table_privilege('leases.progress', 'insert')
)
execute function leases._ranges_changed();
create or replace trigger ranges_inserted_by_us after insert on leases.ranges
referencing new table as new_rows
for each statement when (
    current_setting('leases.internal', true) = 'plan' and has_table_privilege('leases.progress', 'insert')
)
execute function leases._ranges_changed('by us');
create or replace trigger ranges_updated after update on leases.ranges
referencing new table as new_rows old table as old_rows
for each statement when (
    current_setting('leases.internal', true) is distinct from 'on'
    or not has_table_privilege('leases.progress', 'insert')
)
execute function leases._ranges_changed();
create or replace trigger ranges_updated_by_us after update on leases.ranges
referencing new table as new_rows old table as old_rows
for each statement when (
    current_setting('leases.internal', true) = 'on' and has_table_privilege('leases.progress', 'insert')
)
execute function leases._ranges_changed('by us');
create or replace trigger ranges_deleted after delete on leases.ranges
referencing old table as old_rows
for each statement execute function leases._ranges_changed();
