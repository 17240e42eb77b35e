-- Give back all that a node holds: what a restarted worker calls first.
create or replace function leases.release_node(node_id bigint)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $release_node$
declare
    _node leases.nodes;
    _grant leases.grants;
    _draft leases.progress;
    _count bigint := 0;
begin
    select n.* into _node from leases.nodes as n where n.node_id = release_node.node_id;
    if not found then
        perform leases._not_found('node', release_node.node_id::text);
    end if;
    perform leases._check_role(_node.role);
    for _grant in
        select g.* from leases.grants as g
        where g.node_id = release_node.node_id and (leases._state(g.group_id, g.lane)).lease_id = g.lease_id
        order by g.group_id, g.lane
    loop
        _draft := leases._lock_lane(_grant.group_id, _grant.lane);
        if _draft.lease_id = _grant.lease_id then -- else it was taken over meanwhile
            perform leases._let_go(leases._settle(_draft, false), 'release');
            _count := _count + 1;
        end if;
    end loop;
    return _count;
end;
$release_node$;

comment on function leases.release_node(bigint) is
'Releases every lease of the node and returns how many there were. Raises not_found (LS005), insufficient_privilege (42501).';

revoke all on function leases.release_node(bigint) from public;
grant execute on function leases.release_node(bigint) to leases_worker;
