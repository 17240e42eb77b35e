-- L1: planners of a group queue here, at any isolation level: they all write its row.
create or replace function leases._lock_planning(_group_ids bigint[])
returns void
language plpgsql
as $_lock_planning$
declare
    _group_id bigint;
begin
    for _group_id in select distinct g.group_id from unnest(_group_ids) as g (group_id) order by g.group_id loop
        update leases.planning as p set plans = p.plans + 1 where p.group_id = _group_id;
        if not found then
            if not exists (select from leases.groups as g where g.group_id = _group_id) then
                perform leases._not_found('group', _group_id::text);
            end if;
            insert into leases.planning as p (group_id, plans) values (_group_id, 1)
            on conflict (group_id) do update set plans = p.plans + 1;
        end if;
    end loop;
end;
$_lock_planning$;

comment on function leases._lock_planning(bigint[]) is
'Waits for other planners of those groups; raises not_found (LS005) for a group that is not there.';

revoke all on function leases._lock_planning(bigint[]) from public;
