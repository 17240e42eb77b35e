-- N4: the lane of a range that stands at that article and is in no window: back at its start, its priority's.
create or replace function leases._lane_at(_lane leases.lanes, _range leases.ranges, _next_id bigint)
returns text
language sql
stable
return case
    when _next_id = (_range).start_id and not leases._in_band(_lane, (_range).priority)
        then leases._home_lane((_range).priority)
    else (_range).lane
end;

comment on function leases._lane_at(leases.lanes, leases.ranges, bigint) is
'Where a range of that lane belongs once it stands there: still in the lane, or in that of its priority.';

revoke all on function leases._lane_at(leases.lanes, leases.ranges, bigint) from public;
