-- The lane of a priority; '' where no band has it: such ranges are in no lane until one does.
create or replace function leases._home_lane(_priority integer)
returns text
language plpgsql
stable
as $_home_lane$
begin
    return coalesce((select l.lane from leases.lanes as l where leases._in_band(l, _priority)), '');
end;
$_home_lane$;

comment on function leases._home_lane(integer) is
'The lane whose band has that priority, or an empty string.';

revoke all on function leases._home_lane(integer) from public;
