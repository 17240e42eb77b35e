-- A group's priority or activity changed: its lanes are looked at again by the choice.
create or replace function leases._groups_changed()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $_groups_changed$
begin
    insert into leases.notes (group_id, lane)
    select gl.group_id, gl.lane
    from new_groups as n
    join old_groups as o on o.group_id = n.group_id
    join leases.group_lanes as gl on gl.group_id = n.group_id
    where (n.priority, n.active) is distinct from (o.priority, o.active);
    return null;
end;
$_groups_changed$;

comment on function leases._groups_changed() is
'Trigger: notes for the choice that a group''s priority or activity changed.';

revoke all on function leases._groups_changed() from public;

create or replace trigger groups_updated after update on leases.groups
referencing new table as new_groups old table as old_groups
for each statement execute function leases._groups_changed();
