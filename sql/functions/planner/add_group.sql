-- Make a group known, or change what is named of it.
create or replace function leases.add_group(name text, priority integer default null, active boolean default null)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $add_group$
declare
    _group_id bigint;
begin
    perform leases._check_name('group', add_group.name);
    insert into leases.groups as g (name, priority, active)
    values (add_group.name, coalesce(add_group.priority, 100), coalesce(add_group.active, true))
    on conflict on constraint groups_name_key do nothing
    returning g.group_id into _group_id;
    if not found then
        update leases.groups as g
            set priority = coalesce(add_group.priority, g.priority), active = coalesce(add_group.active, g.active)
            where g.name = add_group.name
                and (g.priority, g.active) is distinct from
                    (coalesce(add_group.priority, g.priority), coalesce(add_group.active, g.active));
        select g.group_id into _group_id from leases.groups as g where g.name = add_group.name;
    end if;
    return _group_id;
end;
$add_group$;

comment on function leases.add_group(text, integer, boolean) is
'Returns the group''s id. A new group has priority 100 and is active unless told otherwise; of an existing one only what is named changes. Raises invalid_parameter_value (22023) for a name that is blank or over 500 characters.';

revoke all on function leases.add_group(text, integer, boolean) from public;
grant execute on function leases.add_group(text, integer, boolean) to leases_planner;
