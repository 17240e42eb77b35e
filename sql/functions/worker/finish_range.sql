-- Finish the range in hand.
create or replace function leases.finish_range(lease_id bigint, range_id bigint, headers bigint default 0)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $finish_range$
-- F1, F2.
declare
    _draft leases.progress := leases._held(finish_range.lease_id);
begin
    _draft := leases._log(leases._finish(_draft, finish_range.range_id, finish_range.headers), 'finish');
end;
$finish_range$;

comment on function leases.finish_range(bigint, bigint, bigint) is
'Marks the range in hand as done and counts its headers; again, it changes nothing. Raises lease_lost (LS001), range_not_held (LS002).';

revoke all on function leases.finish_range(bigint, bigint, bigint) from public;
grant execute on function leases.finish_range(bigint, bigint, bigint) to leases_worker;
