-- The draft of the log's next row: the lane's state, one further, heard now if the call counts as that (H3), with
-- nothing finished in it yet.
create or replace function leases._draft(_group_id bigint, _lane text, _heard boolean)
returns leases.progress
language plpgsql
as $_draft$
declare
    _draft leases.progress;
begin
    select p.group_id, p.seq + 1, p.lease_id, case when _heard then leases._now() else p.heard_at end, p.moved_at,
            p.range_id, p.start_id, p.end_id, p.next_id, p.rules_version, p.attempts, null::integer, null::bigint,
            null::bigint, null::bigint, p.cursor_id, p.high_id, p.live_after, p.trimmed_to, p.settings_version, p.lane, null
        into _draft
        from leases.progress as p
        where p.group_id = _group_id and p.lane = _lane order by p.seq desc limit 1;
    if not found then -- nobody ever held the lane
        _draft.group_id := _group_id;
        _draft.lane := _lane;
        _draft.seq := 1;
        _draft.heard_at := case when _heard then leases._now() end;
        _draft.cursor_id := -1;
        _draft.high_id := -1;
        _draft.live_after := 0;
        _draft.trimmed_to := 1; -- the first row stays, for whose snapshot is older than it (_log)
        _draft.settings_version := 0;
    end if;
    return _draft;
end;
$_draft$;

comment on function leases._draft(bigint, text, boolean) is
'The draft of the log''s next row, after the newest one that the caller sees.';

revoke all on function leases._draft(bigint, text, boolean) from public;
