-- The draft of the log's next row: the state, one further, heard now if the call counts as that (H3), with nothing finished in it yet.
create or replace function leases._draft(_state leases.progress, _heard boolean default true)
returns leases.progress
language plpgsql
as $_draft$
begin
    if _state.seq is null then -- nobody ever held the lane
        _state.cursor_id := -1;
        _state.high_id := -1;
        _state.live_after := 0;
        _state.settings_version := 0;
    end if;
    _state.seq := coalesce(_state.seq, 0) + 1;
    if _heard then
        _state.heard_at := leases._now();
    end if;
    _state.finished_id := null;
    _state.finished_headers := null;
    _state.finished_attempts := null;
    _state.finished_rules := null;
    return _state;
end;
$_draft$;

comment on function leases._draft(leases.progress, boolean) is
'The draft of the log''s next row after that one.';

revoke all on function leases._draft(leases.progress, boolean) from public;
