-- The draft with the range in hand finished.
create or replace function leases._finished(_draft leases.progress, _headers bigint)
returns leases.progress
language sql
immutable
return row(
    (_draft).group_id, (_draft).seq, (_draft).lease_id, (_draft).heard_at, (_draft).heard_at, null, (_draft).start_id,
    (_draft).end_id, (_draft).next_id, (_draft).rules_version, (_draft).attempts, (_draft).attempts, (_draft).range_id,
    _headers, (_draft).rules_version, (_draft).cursor_id, (_draft).high_id, (_draft).live_after, (_draft).trimmed_to,
    (_draft).settings_version, (_draft).lane, (_draft).what
)::leases.progress;

comment on function leases._finished(leases.progress, bigint) is
'The draft with the range in hand finished and nothing in hand.';

revoke all on function leases._finished(leases.progress, bigint) from public;
