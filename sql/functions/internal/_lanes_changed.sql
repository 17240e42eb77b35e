-- Settings changed by plain SQL: note it for the choice and the holders, and move ranges that are in another band now.
create or replace function leases._lanes_changed()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set leases.internal = 'off'
as $_lanes_changed$
begin
    if tg_when = 'BEFORE' then
        if (new.priority_from, new.priority_to, new.offer_from, new.offer_to, new.capture_only)
            is distinct from (old.priority_from, old.priority_to, old.offer_from, old.offer_to, old.capture_only) then
            new.settings_version := old.settings_version + 1;
        end if;
        return new;
    end if;
    if tg_op = 'UPDATE' and (new.settings_version, new.max_attempts)
        is not distinct from (old.settings_version, old.max_attempts) then
        return null;
    end if;
    if tg_op <> 'UPDATE' or (new.priority_from, new.priority_to)
        is distinct from (old.priority_from, old.priority_to) then
        -- the row trigger of ranges finds the new lane
        update leases.ranges as r set priority = r.priority
        where r.status <> 'done' and r.next_id = r.start_id and r.lane <> leases._home_lane(r.priority);
    end if;
    if tg_op <> 'DELETE' then
        insert into leases.notes (lane) values (new.lane);
    end if;
    return null;
end;
$_lanes_changed$;

comment on function leases._lanes_changed() is
'Trigger: carries a change of the settings to the ranges, the choice and the holders.';

revoke all on function leases._lanes_changed() from public;

create or replace trigger lanes_updating before update on leases.lanes
for each row execute function leases._lanes_changed();
create or replace trigger lanes_changed after insert or update or delete on leases.lanes
for each row execute function leases._lanes_changed();
