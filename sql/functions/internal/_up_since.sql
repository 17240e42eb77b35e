-- C9: since when the server has taken writes. The WAL writer starts with it, after a crash and after a promotion.
create or replace function leases._up_since()
returns timestamptz
language sql
stable
begin atomic
    select greatest(pg_postmaster_start_time(), max(a.backend_start))
    from pg_stat_activity as a where a.backend_type = 'walwriter';
end;

comment on function leases._up_since() is
'Since when this server takes writes. The WAL writer''s start is seen by superusers and members of pg_read_all_stats.';

revoke all on function leases._up_since() from public;
