-- Forget old grants whose leases are over. The newest ones stay: the turn is read from them (C4).
create or replace function leases._prune_grants(_lane text, _turn bigint)
returns void
language plpgsql
as $_prune_grants$
begin
    delete from leases.grants as g
    where g.lease_id in (
        select o.lease_id from leases.grants as o
        left join lateral (
            select p.lease_id from leases.progress as p
            where p.group_id = o.group_id and p.lane = o.lane order by p.seq desc limit 1) as top on true
        where o.lane = _lane and o.turn <= _turn and top.lease_id is distinct from o.lease_id
        for update of o skip locked);
end;
$_prune_grants$;

comment on function leases._prune_grants(text, bigint) is
'Deletes the lane''s grants up to that turn whose leases have ended.';

revoke all on function leases._prune_grants(text, bigint) from public;
