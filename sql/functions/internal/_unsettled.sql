-- How settling a quiet holder's lane would change what leases.ranges says is planned: articles by priority, signed.
create or replace function leases._unsettled(_state leases.progress, _max_attempts integer)
returns table (priority integer, capture boolean, articles numeric)
language sql
stable
as $_unsettled$
    -- with a snapshot the ranges stand as it covers already; without one, what is done stays done (S6)
    select r.priority, r.capture, -(r.end_id - r.next_id + 1)::numeric
    from leases.progress as p
    join leases.ranges as r on r.range_id = p.finished_id
    where p.group_id = (_state).group_id and p.lane = (_state).lane and p.seq > (_state).live_after
        and r.status = 'planned' and r.lane = p.lane
        and (leases._current((_state).group_id, (_state).lane)).snapshot_id is null
    union all
    -- the range in hand: parked at max_attempts (F4), else at its resume point where no snapshot says otherwise
    select r.priority, r.capture,
        case when (_state).attempts >= _max_attempts then -(r.end_id - r.next_id + 1)::numeric
            when (leases._current((_state).group_id, (_state).lane)).snapshot_id is null
            then (r.next_id - (_state).next_id)::numeric
            else 0 end
    from leases.ranges as r
    where r.range_id = (_state).range_id and r.status = 'planned'
    union all
    select r.priority, r.capture, (r.next_id - d.next_id)::numeric
    from leases.put_down as d
    join leases.ranges as r on r.range_id = d.range_id
    where d.group_id = (_state).group_id and d.lane = (_state).lane and r.status = 'planned'
        and (leases._current((_state).group_id, (_state).lane)).snapshot_id is null;
$_unsettled$;

comment on function leases._unsettled(leases.progress, integer) is
'What settling would add to or take from the planned articles, by priority and capture.';

revoke all on function leases._unsettled(leases.progress, integer) from public;
