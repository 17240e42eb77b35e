-- Bring the lane's row of the choice up to date, or leave a note where someone has it.
create or replace function leases._refresh_one(_group_id bigint, _name text)
returns void
language plpgsql
as $_refresh_one$
declare
    _lane leases.lanes;
begin
    select l.* into _lane from leases.lanes as l where l.lane = _name;
    perform from leases.choices as c where c.group_id = _group_id and c.lane = _name for update skip locked;
    if found then
        perform leases._refresh(_lane, _group_id);
    else
        insert into leases.notes (group_id, lane) values (_group_id, _name);
    end if;
end;
$_refresh_one$;

comment on function leases._refresh_one(bigint, text) is
'Brings one group''s lane up to date for the choice, now or at the next lease_group.';

revoke all on function leases._refresh_one(bigint, text) from public;
