-- The range in hand, else the lowest offered one.
create or replace function leases.next_range(lease_id bigint)
returns setof leases.handed_out
language plpgsql
rows 1
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $next_range$
-- N1 to N3.
declare
    _next leases.handed_out := leases._hand_out(leases._held(next_range.lease_id));
begin
    if _next.range_id is not null then
        return next _next;
    end if;
end;
$next_range$;

comment on function leases.next_range(bigint) is
'Returns the range in hand, or hands out the lane''s lowest offered one; no row when the lane is caught up. Raises lease_lost (LS001).';

revoke all on function leases.next_range(bigint) from public;
grant execute on function leases.next_range(bigint) to leases_worker;
