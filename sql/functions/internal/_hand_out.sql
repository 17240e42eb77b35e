-- N1 to N3: the range in hand, else the lowest offered one: put it into the draft, log it, return it.
create or replace function leases._hand_out(_draft leases.progress)
returns leases.handed_out
language plpgsql
as $_hand_out$
declare
    _lane leases.lanes;
    _range leases.ranges;
    _rules bigint;
    _rewind bigint;
begin
    if _draft.range_id is null then
        select l.* into _lane from leases.lanes as l where l.lane = _draft.lane;
        select
            (select max(v.version) from leases.rule_sets as v),
            (select min(w.start_id) from leases.rewinds as w
             where w.group_id = _draft.group_id and w.lane = _draft.lane)
            into _rules, _rewind;
        if _draft.settings_version <> _lane.settings_version then
            _draft.settings_version := _lane.settings_version;
            _draft.cursor_id := -1;
        end if;
        if _rewind is not null then
            delete from leases.rewinds as w where w.group_id = _draft.group_id and w.lane = _draft.lane;
            _draft.cursor_id := least(_draft.cursor_id, _rewind - 1);
        end if;
        if _draft.seq % 256 = 0 then
            _draft := leases._fold_log(_draft);
        end if;
        _range := leases._next_offered(_draft, _lane);
        if _range.range_id is not null then
            _draft.range_id := _range.range_id;
            _draft.start_id := _range.start_id;
            _draft.end_id := _range.end_id;
            _draft.next_id := _range.next_id;
            _draft.attempts := _range.attempts + 1;
            _draft.rules_version := _rules;
            _draft.cursor_id := _range.start_id;
            _draft.high_id := greatest(_draft.high_id, _range.start_id);
            _draft.moved_at := _draft.heard_at;
        end if;
    else
        select r.* into _range from leases.ranges as r where r.range_id = _draft.range_id;
    end if;
    perform leases._log(_draft, 'next');
    if _draft.range_id is null then
        return null;
    end if;
    return row(_draft.range_id, _draft.start_id, _draft.end_id, _draft.next_id, _range.priority, _range.capture,
        _draft.attempts, _draft.rules_version);
end;
$_hand_out$;

comment on function leases._hand_out(leases.progress) is
'Hands out the lane''s next range and writes the draft to the log; null where nothing is offered.';

revoke all on function leases._hand_out(leases.progress) from public;
