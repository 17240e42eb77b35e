-- A lane without a snapshot loses nothing that is done (S6), so its log is folded as it grows: every 256 rows.
create or replace function leases._fold_sometimes(_draft leases.progress)
returns leases.progress
language plpgsql
as $_fold_sometimes$
begin
    if _draft.seq % 256 = 0 and (leases._current(_draft.group_id, _draft.lane)).snapshot_id is null then
        perform leases._fold(_draft.group_id, _draft.lane, _draft.live_after, _draft.seq - 1);
        _draft.live_after := _draft.seq - 1;
        perform leases._trim(_draft);
    end if;
    return _draft;
end;
$_fold_sometimes$;

comment on function leases._fold_sometimes(leases.progress) is
'The draft, with the log before it folded into the ranges where its turn has come.';

revoke all on function leases._fold_sometimes(leases.progress) from public;
