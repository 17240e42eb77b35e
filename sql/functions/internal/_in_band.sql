-- Whether the lane's band has that priority.
create or replace function leases._in_band(_lane leases.lanes, _priority integer)
returns boolean
language sql
immutable
return ((_lane).priority_from is null or _priority >= (_lane).priority_from)
    and ((_lane).priority_to is null or _priority <= (_lane).priority_to);

comment on function leases._in_band(leases.lanes, integer) is
'Whether ranges of that priority belong to the lane.';

revoke all on function leases._in_band(leases.lanes, integer) from public;
