-- Not heard of for longer than the ttl (C9: counted from the server's start at the earliest). Seconds, not calendar days.
create or replace function leases._is_quiet(_heard_at timestamptz, _ttl interval)
returns boolean
language sql
volatile
as $_is_quiet$
    select case when extract(epoch from leases._now() - _heard_at) > extract(epoch from _ttl)
        then extract(epoch from leases._now() - leases._up_since()) > extract(epoch from _ttl)
        else false end;
$_is_quiet$;

comment on function leases._is_quiet(timestamptz, interval) is
'Whether a holder last heard at that time is quiet.';

revoke all on function leases._is_quiet(timestamptz, interval) from public;
