-- A parked range is planned again: the holder hears of it.
create or replace function leases._plan_again(_range leases.ranges)
returns void
language plpgsql
set leases.internal = 'on'
as $_plan_again$
begin
    update leases.ranges as r set status = 'planned', attempts = 0 where r.range_id = _range.range_id;
    insert into leases.rewinds (group_id, lane, start_id) values (_range.group_id, _range.lane, _range.start_id);
end;
$_plan_again$;

comment on function leases._plan_again(leases.ranges) is
'Plans the range again, its attempts forgotten.';

revoke all on function leases._plan_again(leases.ranges) from public;
