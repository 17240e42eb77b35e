-- The draft of the log's next row: the lane's state, one further, heard now if the call counts as that (H3), with
-- nothing finished in it yet.
create or replace function leases._draft(_group_id bigint, _lane text, _heard boolean)
returns leases.progress
language plpgsql
as $_draft$
declare
    _draft leases.progress;
begin
    select p.* into _draft from leases.progress as p
        where p.group_id = _group_id and p.lane = _lane order by p.seq desc limit 1;
    if not found then -- nobody ever held the lane
        _draft.group_id := _group_id;
        _draft.lane := _lane;
        _draft.seq := 0;
        _draft.cursor_id := -1;
        _draft.high_id := -1;
        _draft.live_after := 0;
        _draft.trimmed_to := 1; -- the first row stays, for whose snapshot is older than it (_log)
        _draft.settings_version := 0;
    end if;
    _draft.seq := _draft.seq + 1;
    if _heard then
        _draft.heard_at := leases._now();
    end if;
    _draft.finished_id := null;
    _draft.finished_headers := null;
    _draft.finished_attempts := null;
    _draft.finished_rules := null;
    return _draft;
end;
$_draft$;

comment on function leases._draft(bigint, text, boolean) is
'The draft of the log''s next row, after the newest one that the caller sees.';

revoke all on function leases._draft(bigint, text, boolean) from public;
