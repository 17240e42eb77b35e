-- Before a row of leases.ranges is written by plain SQL: fill in what follows from the rest, and protect the range in hand.
create or replace function leases._ranges_checked()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $_ranges_checked$
-- Our own functions know what they write (leases.internal) and skip this. Anyone can set that; so it counts only for
-- whoever may write the log, and that is the owner, whom they all run as.
declare
    _holds text;
    _home text;
begin
    if tg_op = 'INSERT' then
        new.next_id := case when new.status = 'done' then new.end_id + 1 else coalesce(new.next_id, new.start_id) end;
        new.done_at := case when new.status = 'done' then coalesce(new.done_at, leases._now()) end;
        new.lane := leases._home_lane(new.priority);
        if new.status = 'planned' and new.next_id > new.end_id then
            new.status := 'done'; -- nothing is left of it
            new.done_at := leases._now();
        end if;
        return new;
    end if;
    _holds := leases._window_holds(old);
    if tg_op = 'DELETE' then
        if _holds = 'leased' then
            perform leases._in_window(old, _holds);
        end if;
        delete from leases.put_down as d where d.group_id = old.group_id and d.range_id = old.range_id;
        return old;
    end if;
    if (new.range_id, new.group_id, new.start_id, new.end_id, new.next_id, new.status)
        is distinct from (old.range_id, old.group_id, old.start_id, old.end_id, old.next_id, old.status) then
        delete from leases.put_down as d where d.group_id = old.group_id and d.range_id = old.range_id;
        _holds := null;
    end if;
    if new.last_error is null and old.last_error is not null and exists (
        select from leases.put_down as d where d.group_id = old.group_id and d.range_id = old.range_id) then
        new.last_error := ''; -- the next hand-out looks for a resume point only where there is a reason
    end if;
    if new.status = 'done' or (new.status = 'planned' and old.status <> 'done' and new.next_id > new.end_id) then
        new.status := 'done';
        new.next_id := new.end_id + 1;
        new.done_at := coalesce(new.done_at, leases._now());
        return new;
    end if;
    if old.status = 'done' then
        new.next_id := case when new.next_id = old.next_id then new.start_id else new.next_id end;
        new.done_at := null;
        new.done_by := null;
        new.headers := 0;
        new.attempts := 0;
    elsif new.next_id = old.start_id then
        new.next_id := new.start_id;
    end if;
    _home := leases._home_lane(new.priority);
    if new.next_id = new.start_id and new.lane <> _home and _holds is null then
        new.lane := _home; -- N4: a begun range stays in its lane; settling sends it home from a window
        new.moved := true;
    end if;
    return new;
end;
$_ranges_checked$;

comment on function leases._ranges_checked() is
'Trigger: completes rows of ranges written by plain SQL and refuses to delete a range in hand (55006).';

revoke all on function leases._ranges_checked() from public;

create or replace trigger ranges_inserted_row before insert on leases.ranges
for each row when (new.lane is null or new.next_id is null) execute function leases._ranges_checked();
create or replace trigger ranges_updated_row before update on leases.ranges
for each row when (
    current_setting('leases.internal', true) is distinct from 'on'
    or not has_table_privilege('leases.progress', 'insert')
)
execute function leases._ranges_checked();
create or replace trigger ranges_deleted_row before delete on leases.ranges
for each row when (
    current_setting('leases.internal', true) is distinct from 'on'
    or not has_table_privilege('leases.progress', 'insert')
)
execute function leases._ranges_checked();
