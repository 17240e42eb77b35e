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
        if _draft.settings_version <> (_at.lane).settings_version or _at.is_rewound or _draft.seq % 256 = 0 then
            _draft := leases._caught_up(_draft, _at.lane);
        end if;
        _range := leases._next_offered(_draft, _at.lane);
        if _range.range_id is not null then
            _draft := leases._in_hand(_draft, _range, _at.rules_version);
        end if;
    else
        select r.* into _range from leases.ranges as r where r.range_id = _draft.range_id;
    end if;
    _draft := leases._log(_draft, 'next');
    return case when _draft.range_id is not null
        then row(_draft.range_id, _draft.start_id, _draft.end_id, _draft.next_id, _range.priority, _range.capture,
            _draft.attempts, _draft.rules_version)::leases.handed_out end;
end;
$_hand_out$;

comment on function leases._hand_out(leases.progress) is
'Hands out the lane''s next range and writes the draft to the log; null where nothing is offered.';

revoke all on function leases._hand_out(leases.progress) from public;
