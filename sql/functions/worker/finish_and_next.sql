-- Finish the range in hand and hand out the next, in one transaction.
create or replace function leases.finish_and_next(lease_id bigint, range_id bigint, headers bigint default 0)
returns setof leases.handed_out
language plpgsql
rows 1
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $finish_and_next$
-- F1, F2, N1 to N3. Repeated after a lost answer, it gives the range that the first call handed out.
declare
    _next leases.handed_out := leases._hand_out(leases._finish(leases._held(finish_and_next.lease_id),
        finish_and_next.range_id, finish_and_next.headers));
begin
    if _next.range_id is not null then
        return next _next;
    end if;
end;
$finish_and_next$;

comment on function leases.finish_and_next(bigint, bigint, bigint) is
'Does finish_range and next_range in one call; returns as next_range. Raises lease_lost (LS001), range_not_held (LS002).';

revoke all on function leases.finish_and_next(bigint, bigint, bigint) from public;
grant execute on function leases.finish_and_next(bigint, bigint, bigint) to leases_worker;
