-- The draft with that range in hand.
create or replace function leases._in_hand(_draft leases.progress, _range leases.ranges, _rules_version bigint)
returns leases.progress
language sql
immutable
return row(
    (_draft).group_id, (_draft).seq, (_draft).lease_id, (_draft).heard_at, (_draft).heard_at, (_range).range_id,
    (_range).start_id, (_range).end_id, (_range).next_id, _rules_version, (_range).attempts + 1,
    (_draft).finished_attempts, (_draft).finished_id, (_draft).finished_headers, (_draft).finished_rules,
    (_range).start_id, greatest((_draft).high_id, (_range).start_id), (_draft).live_after, (_draft).trimmed_to,
    (_draft).settings_version, (_draft).lane, (_draft).what
)::leases.progress;

comment on function leases._in_hand(leases.progress, leases.ranges, bigint) is
'The draft after a hand-out: the range in hand, attempted once more, and looking on from it.';

revoke all on function leases._in_hand(leases.progress, leases.ranges, bigint) from public;
