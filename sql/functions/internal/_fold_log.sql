-- A lane without a snapshot loses nothing that is done (S6), so its log is folded as it grows.
create or replace function leases._fold_log(_draft leases.progress)
returns leases.progress
language plpgsql
as $_fold_log$
begin
    if (leases._current(_draft.group_id, _draft.lane)).snapshot_id is null then
        perform leases._fold(_draft.group_id, _draft.lane, _draft.live_after, _draft.seq - 1);
        _draft.live_after := _draft.seq - 1;
        _draft := leases._trim(_draft);
    end if;
    return _draft;
end;
$_fold_log$;

comment on function leases._fold_log(leases.progress) is
'The draft, with the log before it folded into the ranges where the lane has no snapshot.';

revoke all on function leases._fold_log(leases.progress) from public;
