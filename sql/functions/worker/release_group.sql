-- Give a group back: settle its lane, then let go of it.
create or replace function leases.release_group(lease_id bigint)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $release_group$
-- R1. Being given back is not being heard (H3).
declare
    _draft leases.progress := leases._held(release_group.lease_id, false);
begin
    _draft := leases._let_go(leases._settle(_draft, false), 'release');
end;
$release_group$;

comment on function leases.release_group(bigint) is
'Gives the group back: what its snapshot does not cover is planned again. Raises lease_lost (LS001).';

revoke all on function leases.release_group(bigint) from public;
grant execute on function leases.release_group(bigint) to leases_worker;
