-- Make a node known, or find it by its name.
create or replace function leases.register_node(name text)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $register_node$
declare
    _node leases.nodes;
begin
    perform leases._check_name('node', register_node.name);
    insert into leases.nodes as n (name, role) values (register_node.name, leases._caller())
    on conflict on constraint nodes_name_key do nothing
    returning n.* into _node;
    if not found then
        select n.* into _node from leases.nodes as n where n.name = register_node.name;
        perform leases._check_role(_node.role);
    end if;
    return _node.node_id;
end;
$register_node$;

comment on function leases.register_node(text) is
'Returns the node''s id; the same name gives the same id. The node belongs to the role that registered it. Raises invalid_parameter_value (22023) for a name that is blank or over 500 characters, insufficient_privilege (42501) for another role''s.';

revoke all on function leases.register_node(text) from public;
grant execute on function leases.register_node(text) to leases_worker;
