-- N1 to N3: the range in hand, else the lowest offered one: put it into the draft, log it, return it.
create or replace function leases._hand_out(_draft leases.progress)
returns leases.handed_out
language plpgsql
as $_hand_out$
declare
    _at record;
    _range leases.ranges;
begin
    if _draft.range_id is null then
        select
            l as lane,
            (select v.version from leases.rule_sets as v order by v.version desc limit 1) as rules_version,
            exists (
                select from leases.rewinds as w
                where w.group_id = _draft.group_id and w.lane = _draft.lane
            ) as is_rewound
            into _at
            from leases.lanes as l where l.lane = _draft.lane;
        if _draft.settings_version <> (_at.lane).settings_version then
            _draft.settings_version := (_at.lane).settings_version;
            _draft.cursor_id := -1;
        end if;
        if _at.is_rewound then
            with gone as (
                delete from leases.rewinds as w where w.group_id = _draft.group_id and w.lane = _draft.lane
                returning w.start_id
            )
            select least(_draft.cursor_id, min(g.start_id) - 1) into _draft.cursor_id from gone as g;
        end if;
        if _draft.seq % 256 = 0 then
            _draft := leases._fold_log(_draft);
        end if;
        _range := leases._next_offered(_draft, _at.lane);
        if _range.range_id is not null then
            _draft.range_id := _range.range_id;
            _draft.start_id := _range.start_id;
            _draft.end_id := _range.end_id;
            _draft.next_id := _range.next_id;
            _draft.attempts := _range.attempts + 1;
            _draft.rules_version := _at.rules_version;
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
