-- The lowest offered range of the lane, locked, at the resume point that the holder's window stands at.
create or replace function leases._next_offered(_draft leases.progress, _lane leases.lanes)
returns leases.ranges
language plpgsql
as $_next_offered$
-- Above high_id nothing was handed out since live_after. Below it, ranges that the holder has finished may still
-- stand as planned. The range's lock meets an administrator who changes that very range (L2); a recheck after
-- such a wait can come back empty though more is offered, so look again.
declare
    _range leases.ranges;
    _resume bigint;
    _from bigint := _draft.cursor_id;
begin
    loop
        if _from < _draft.high_id then
            select r.* into _range from leases.ranges as r
            where r.group_id = _draft.group_id and r.lane = _draft.lane and r.status = 'planned'
                and r.start_id > _from and r.start_id <= _draft.high_id
                and r.next_id <= r.end_id and leases._offers(_lane, r.priority, r.capture)
                and r.range_id <> all (array(
                    select p.finished_id from leases.progress as p
                    where p.group_id = _draft.group_id and p.lane = _draft.lane
                        and p.seq > _draft.live_after and p.finished_id is not null
                    union all
                    select _draft.finished_id where _draft.finished_id is not null))
            order by r.start_id limit 1 for update;
            if not found then
                _from := _draft.high_id;
                continue;
            end if;
        else
            select r.* into _range from leases.ranges as r
            where r.group_id = _draft.group_id and r.lane = _draft.lane and r.status = 'planned'
                and r.start_id > _from
                and r.next_id <= r.end_id and leases._offers(_lane, r.priority, r.capture)
            order by r.start_id limit 1 for update;
            if not found then
                if not exists (
                    select from leases.ranges as r
                    where r.group_id = _draft.group_id and r.lane = _draft.lane and r.status = 'planned'
                        and r.start_id > _from
                        and r.next_id <= r.end_id and leases._offers(_lane, r.priority, r.capture)) then
                    return null;
                end if;
                continue;
            end if;
        end if;
        if not _range.moved and _range.last_error is null then
            return _range;
        elsif _range.moved and leases._live_elsewhere(_range, _draft.lane) then
            _from := _range.start_id;
            continue;
        elsif _range.last_error is not null then
            delete from leases.put_down as d
                where d.group_id = _draft.group_id and d.lane = _draft.lane and d.range_id = _range.range_id
                returning d.next_id into _resume;
            _range.next_id := coalesce(_resume, _range.next_id);
        end if;
        return _range;
    end loop;
end;
$_next_offered$;

comment on function leases._next_offered(leases.progress, leases.lanes) is
'The lane''s lowest offered range, locked, or null.';

revoke all on function leases._next_offered(leases.progress, leases.lanes) from public;
