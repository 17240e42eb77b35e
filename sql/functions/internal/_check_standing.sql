-- P2: a window can only stand in the range in hand, or where no range of the lane is cut.
create or replace function leases._check_standing(_draft leases.progress, _next_id bigint)
returns void
language plpgsql
stable
as $_check_standing$
declare
    _range leases.ranges;
    _resume bigint;
begin
    if _draft.range_id is not null and _next_id between _draft.start_id and _draft.end_id + 1 then
        return;
    elsif _draft.range_id is null and _next_id >= 0 then
        select r.* into _range from leases.ranges as r
            where r.group_id = _draft.group_id and r.start_id < _next_id order by r.start_id desc limit 1;
        if not found or _range.end_id < _next_id or (_range.lane <> _draft.lane and not _range.moved) then
            return;
        end if;
        select d.next_id into _resume from leases.put_down as d
            where d.group_id = _draft.group_id and d.lane = _draft.lane and d.range_id = _range.range_id;
        if coalesce(_resume, _range.next_id) = _next_id
            and leases._window_holds(_range) is distinct from 'done' then
            return;
        end if;
    end if;
    perform leases._refuse('no window can stand there',
        format('Got %s; in hand is %s.', coalesce(_next_id::text, 'null'),
            coalesce(format('%s..%s', _draft.start_id, _draft.end_id), 'no range')),
        'Give the next article to index: within start_id..end_id + 1 of the range in hand, or a resume point.');
end;
$_check_standing$;

comment on function leases._check_standing(leases.progress, bigint) is
'Raises invalid_parameter_value (22023) where no window can stand at that article.';

revoke all on function leases._check_standing(leases.progress, bigint) from public;
