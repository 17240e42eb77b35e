-- C7: give the node the lease of a settled lane.
create or replace function leases._grant(_draft leases.progress, _node leases.nodes, _turn bigint)
returns leases.granted
language plpgsql
as $_grant$
declare
    _granted leases.granted;
begin
    _draft := leases._emptied(_draft);
    _draft.lease_id := nextval('leases.lease_ids');
    _draft.moved_at := _draft.heard_at;
    insert into leases.grants (lease_id, group_id, node_id, turn, granted_at, lane, role)
    values (_draft.lease_id, _draft.group_id, _node.node_id, _turn, _draft.heard_at, _draft.lane, _node.role);
    delete from leases.rewinds as w where w.group_id = _draft.group_id and w.lane = _draft.lane;
    select _draft.lease_id, g.group_id, g.name, g.priority, l.lane, v.version, v.rules, l.ttl, s.snapshot_id, s.next_id
        into _granted
        from leases.groups as g
        cross join leases.lanes as l
        cross join leases._current(_draft.group_id, _draft.lane) as s
        cross join (select r.version, r.rules from leases.rule_sets as r order by r.version desc limit 1) as v
        where g.group_id = _draft.group_id and l.lane = _draft.lane;
    select l.settings_version into _draft.settings_version from leases.lanes as l where l.lane = _draft.lane;
    perform leases._log(_draft, 'grant');
    perform leases._trim(_draft);
    perform leases._refresh_one(_draft.group_id, _draft.lane);
    return _granted;
end;
$_grant$;

comment on function leases._grant(leases.progress, leases.nodes, bigint) is
'Grants the lease and returns what lease_group returns.';

revoke all on function leases._grant(leases.progress, leases.nodes, bigint) from public;
