-- C2: whether nobody has the lane, or its holder is quiet, or was heard in the future (C9), as its log's newest row says.
create or replace function leases._is_free(
    _lease_id bigint, _heard_at timestamptz, _quiet_before timestamptz, _now timestamptz
)
returns boolean
language sql
immutable
return _lease_id is null or _heard_at < _quiet_before or _heard_at > _now;

comment on function leases._is_free(bigint, timestamptz, timestamptz, timestamptz) is
'Whether a lane with that lease, heard at that time, may be free.';

revoke all on function leases._is_free(bigint, timestamptz, timestamptz, timestamptz) from public;
