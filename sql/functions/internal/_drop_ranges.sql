-- All ranges of a group go.
create or replace function leases._drop_ranges(_group_id bigint)
returns void
language plpgsql
set leases.internal = 'on'
as $_drop_ranges$
begin
    delete from leases.ranges as r where r.group_id = _group_id;
end;
$_drop_ranges$;

comment on function leases._drop_ranges(bigint) is
'Deletes the group''s ranges.';

revoke all on function leases._drop_ranges(bigint) from public;
