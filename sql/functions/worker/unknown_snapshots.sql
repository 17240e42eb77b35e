-- Of these file names, those that no snapshot has.
create or replace function leases.unknown_snapshots(files text[])
returns setof text
language plpgsql
stable
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $unknown_snapshots$
-- P5: what a sweep may delete once it is old. A file that a row says is gone is unknown again.
begin
    return query
    select f.file from unnest(unknown_snapshots.files) as f (file)
    where not exists (
        select from leases.snapshots as s where s.file = f.file and s.status <> 'gone'
    );
end;
$unknown_snapshots$;

comment on function leases.unknown_snapshots(text[]) is
'Returns those of the file names that no pending, kept or stale snapshot has.';

revoke all on function leases.unknown_snapshots(text[]) from public;
grant execute on function leases.unknown_snapshots(text[]) to leases_worker;
