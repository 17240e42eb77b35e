-- C7: give the node the lease of a settled lane.
create or replace function leases._grant(_draft leases.progress, _lane leases.lanes, _node leases.nodes, _turn bigint)
returns leases.granted
language plpgsql
as $_grant$
declare
    _granted leases.granted;
begin
    _draft := leases._emptied(_draft);
    _draft.lease_id := nextval('leases.lease_ids');
    _draft.moved_at := _draft.heard_at;
    _draft.settings_version := _lane.settings_version;
    insert into leases.grants (lease_id, group_id, node_id, turn, granted_at, lane, role)
    values (_draft.lease_id, _draft.group_id, _node.node_id, _turn, _draft.heard_at, _draft.lane, _node.role);
    if _turn % 256 = 0 then
        perform leases._prune_grants(_lane.lane, _turn - 256);
    end if;
    _draft := leases._log(_draft, 'grant');
    if _turn % 16 = 0 then
        perform leases._unlist_held(_lane.lane, _turn);
    end if;
    if _turn % 2 = 0 then
        perform leases._bump(_draft.group_id, _draft.lane, _draft.heard_at);
    end if;
    select _draft.lease_id, g.group_id, g.name, g.priority, _lane.lane, v.version, v.rules, _lane.ttl, s.snapshot_id,
            s.next_id
        into _granted
        from leases.groups as g
        cross join lateral (select r.version, r.rules from leases.rule_sets as r order by r.version desc limit 1) as v
        left join lateral (
            select k.snapshot_id, k.next_id from leases.snapshots as k
            where k.group_id = g.group_id and k.lane = _lane.lane and k.status = 'kept'
            order by k.snapshot_id desc limit 1) as s on true
        where g.group_id = _draft.group_id;
    return _granted;
end;
$_grant$;

comment on function leases._grant(leases.progress, leases.lanes, leases.nodes, bigint) is
'Grants the lease and returns what lease_group returns.';

revoke all on function leases._grant(leases.progress, leases.lanes, leases.nodes, bigint) from public;
