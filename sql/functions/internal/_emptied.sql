-- The draft of a lane whose window is gone: nothing in hand, nothing finished that is not in the ranges.
create or replace function leases._emptied(_draft leases.progress)
returns leases.progress
language plpgsql
immutable
as $_emptied$
begin
    _draft.range_id := null;
    _draft.start_id := null;
    _draft.end_id := null;
    _draft.next_id := null;
    _draft.attempts := null;
    _draft.rules_version := null;
    _draft.cursor_id := -1;
    _draft.high_id := -1;
    _draft.live_after := _draft.seq;
    return _draft;
end;
$_emptied$;

comment on function leases._emptied(leases.progress) is
'The draft with no range in hand and no window.';

revoke all on function leases._emptied(leases.progress) from public;
