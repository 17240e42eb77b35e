-- A lane's settings, or not_found.
create or replace function leases._lane(_name text)
returns leases.lanes
language plpgsql
stable
as $_lane$
declare
    _lane leases.lanes;
begin
    select l.* into _lane from leases.lanes as l where l.lane = _name;
    if not found then
        perform leases._not_found('lane', _name);
    end if;
    return _lane;
end;
$_lane$;

comment on function leases._lane(text) is
'The settings of a lane; raises not_found (LS005).';

revoke all on function leases._lane(text) from public;
