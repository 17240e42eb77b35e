-- Lease the best candidate of a lane.
create or replace function leases.lease_group(node_id bigint, lane text default 'history')
returns setof leases.granted
language plpgsql
rows 1
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $lease_group$
-- C1 to C9. Only the lane that is chosen is locked, with SKIP LOCKED, so that two calls at once neither wait nor fail; a
-- candidate that another call has is left out and the next one taken. The first look locks nothing: there may be none,
-- and then no turn is taken.
declare
    _node leases.nodes;
    _lane leases.lanes := leases._lane(lease_group.lane);
    _others leases.candidate[];
    _tried bigint[] := array[]::bigint[];
    _look_again integer := 0;
    _turn bigint;
    _best leases.candidate;
    _draft leases.progress;
begin
    select n.* into _node from leases.nodes as n where n.node_id = lease_group.node_id;
    if not found then
        perform leases._not_found('node', lease_group.node_id::text);
    end if;
    if _node.role <> leases._caller() then
        perform leases._check_role(_node.role);
    end if;
    if leases._closed_because(_lane) is not null then
        return;
    end if;
    loop
        if cardinality(_tried) = _look_again then -- of what was seen before, others may have taken the most by now
            _look_again := greatest(16, 2 * _look_again);
            _others := leases._add_up(_lane) || leases._quiet_ones(_lane);
        end if;
        _best := leases._best(_lane, _others, _tried, _turn is null or _turn % 2 = 1, _turn is not null);
        exit when _best.group_id is null;
        if _turn is null then -- C4: only a call that has something to grant takes a turn
            _turn := leases._take_turn(_lane.lane);
            continue;
        end if;
        _draft := leases._take(_lane, _best);
        if _draft.group_id is not null then
            return next leases._grant(_draft, _lane, _node, _turn);
            return;
        end if;
        _tried := _tried || _best.group_id;
    end loop;
end;
$lease_group$;

comment on function leases.lease_group(bigint, text) is
'Grants the node a lease on the lane''s best candidate and returns it with the current rules and snapshot; no row where there is none (see why_idle). Raises not_found (LS005) for an unknown node or lane, insufficient_privilege (42501) for another role''s node.';

revoke all on function leases.lease_group(bigint, text) from public;
grant execute on function leases.lease_group(bigint, text) to leases_worker;
