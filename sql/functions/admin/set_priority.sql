-- Move ranges that nobody has begun to another priority.
create or replace function leases.set_priority(group_id bigint, start_id bigint, end_id bigint, priority integer)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set leases.internal = 'off'
as $set_priority$
-- N4: begun ranges stay. The ranges are locked first, then asked of the windows of the holders in a later statement.
declare
    _ranges bigint[];
    _moved bigint;
begin
    if not exists (select from leases.groups as g where g.group_id = set_priority.group_id) then
        perform leases._not_found('group', set_priority.group_id::text);
    elsif set_priority.priority is null then
        perform leases._refuse('the priority makes no sense', 'Got null.', 'Give an integer; lower is more urgent.');
    elsif not leases._check_span(set_priority.start_id, set_priority.end_id) then
        return 0;
    end if;
    _ranges := array(
        select r.range_id from leases.ranges as r
        where r.group_id = set_priority.group_id and r.status = 'planned' and r.next_id = r.start_id
            and r.start_id >= set_priority.start_id and r.end_id <= set_priority.end_id
            and r.start_id <= set_priority.end_id
        order by r.start_id for update);
    update leases.ranges as r set priority = set_priority.priority
        where r.range_id = any(_ranges) and leases._window_holds(r) is null;
    get diagnostics _moved = row_count;
    return _moved;
end;
$set_priority$;

comment on function leases.set_priority(bigint, bigint, bigint, integer) is
'Gives that priority to the ranges that lie whole inside start_id..end_id, are planned and not begun, and returns how many. Raises not_found (LS005), invalid_parameter_value (22023).';

revoke all on function leases.set_priority(bigint, bigint, bigint, integer) from public;
grant execute on function leases.set_priority(bigint, bigint, bigint, integer) to leases_admin;
