-- Report the size of the catalog and its cap.
create or replace function leases.report_catalog(used_bytes bigint, cap_bytes bigint)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $report_catalog$
-- C5.
begin
    if report_catalog.used_bytes is null or report_catalog.used_bytes < 0
        or report_catalog.cap_bytes is null or report_catalog.cap_bytes < 0 then
        perform leases._refuse('the size or the cap of the catalog makes no sense',
            format('Got %s used, %s cap.', coalesce(report_catalog.used_bytes::text, 'null'),
                coalesce(report_catalog.cap_bytes::text, 'null')), 'Give both in bytes, 0 or more.');
    end if;
    insert into leases.catalog as c (used_bytes, cap_bytes, reported_at)
    values (report_catalog.used_bytes, report_catalog.cap_bytes, leases._now())
    on conflict on constraint catalog_pkey do update
    set used_bytes = excluded.used_bytes, cap_bytes = excluded.cap_bytes, reported_at = excluded.reported_at;
end;
$report_catalog$;

comment on function leases.report_catalog(bigint, bigint) is
'Keeps the catalog''s size and cap, in bytes: lanes that yield to it grant nothing while it is at its cap or above. Raises invalid_parameter_value (22023).';

revoke all on function leases.report_catalog(bigint, bigint) from public;
grant execute on function leases.report_catalog(bigint, bigint) to leases_planner;
