-- The draft of a holder that looks on from where the settings, a word from planners or its own log let it.
create or replace function leases._caught_up(_draft leases.progress, _lane leases.lanes)
returns leases.progress
language plpgsql
as $_caught_up$
-- A change of the settings may offer anything; a rewind says from where. A lane without a snapshot loses nothing that is
-- done (S6), so its log is folded as it grows.
begin
    if _draft.settings_version <> _lane.settings_version then
        _draft.settings_version := _lane.settings_version;
        _draft.cursor_id := -1;
    end if;
    with gone as (
        delete from leases.rewinds as w where w.group_id = _draft.group_id and w.lane = _draft.lane
        returning w.start_id
    )
    select least(_draft.cursor_id, min(g.start_id) - 1) into _draft.cursor_id from gone as g;
    if _draft.seq % 256 = 0 and (leases._current(_draft.group_id, _draft.lane)).snapshot_id is null then
        perform leases._fold(_draft.group_id, _draft.lane, _draft.live_after, _draft.seq - 1);
        _draft.live_after := _draft.seq - 1;
        _draft := leases._trim(_draft);
    end if;
    return _draft;
end;
$_caught_up$;

comment on function leases._caught_up(leases.progress, leases.lanes) is
'The draft with the newest settings, its cursor where something new may be, and a long log without a snapshot folded.';

revoke all on function leases._caught_up(leases.progress, leases.lanes) from public;
