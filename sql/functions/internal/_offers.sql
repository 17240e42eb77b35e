-- C1: whether the lane's offer bounds and capture_only let ranges of this kind through.
create or replace function leases._offers(_lane leases.lanes, _priority integer, _capture boolean)
returns boolean
language sql
immutable
return ((_lane).offer_from is null or _priority >= (_lane).offer_from)
    and ((_lane).offer_to is null or _priority <= (_lane).offer_to)
    and (_capture or not (_lane).capture_only);

comment on function leases._offers(leases.lanes, integer, boolean) is
'Whether the lane hands out ranges of that priority and capture flag now.';

revoke all on function leases._offers(leases.lanes, integer, boolean) from public;
