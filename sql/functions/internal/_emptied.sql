-- The draft of a lane whose window is gone: nothing in hand, nothing finished that is not in the ranges.
create or replace function leases._emptied(_draft leases.progress)
returns leases.progress
language sql
immutable
return row(
    (_draft).group_id, (_draft).seq, (_draft).lease_id, (_draft).heard_at, (_draft).moved_at, null, null, null, null,
    null, null, (_draft).finished_attempts, (_draft).finished_id, (_draft).finished_headers, (_draft).finished_rules,
    -1, -1, (_draft).seq, (_draft).trimmed_to, (_draft).settings_version, (_draft).lane, (_draft).what
)::leases.progress;

comment on function leases._emptied(leases.progress) is
'The draft with no range in hand and no window.';

revoke all on function leases._emptied(leases.progress) from public;
