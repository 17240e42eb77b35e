-- Plan a parked range again.
create or replace function leases.retry_range(range_id bigint)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $retry_range$
declare
    _range leases.ranges;
begin
    select r.* into _range from leases.ranges as r where r.range_id = retry_range.range_id for update;
    if not found then
        perform leases._not_found('range', retry_range.range_id::text);
    elsif _range.status <> 'parked' then
        perform leases._refuse('the range is not parked',
            format('Range %s is %s.', _range.range_id, _range.status), 'Only parked ranges are retried.');
    end if;
    perform leases._plan_again(_range);
end;
$retry_range$;

comment on function leases.retry_range(bigint) is
'Plans a parked range again, its attempts forgotten. Raises not_found (LS005), invalid_parameter_value (22023) where it is not parked.';

revoke all on function leases.retry_range(bigint) from public;
grant execute on function leases.retry_range(bigint) to leases_admin;
