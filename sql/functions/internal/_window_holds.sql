-- What the holder's window says of a range beyond leases.ranges: 'leased', 'done', 'put down', or null.
create or replace function leases._window_holds(_range leases.ranges)
returns text
language sql
stable
begin atomic
    select case
        when top.range_id = (_range).range_id then 'leased'
        when exists (
            select 1 from leases.progress as p
            where p.group_id = gl.group_id and p.lane = gl.lane and p.seq > top.live_after
                and p.finished_id = (_range).range_id
        ) then 'done'
        when exists (
            select 1 from leases.put_down as d
            where d.group_id = gl.group_id and d.lane = gl.lane and d.range_id = (_range).range_id
                and d.next_id > (_range).start_id
        ) then 'put down'
    end as holds
    from leases.group_lanes as gl
    cross join lateral (
        select p.* from leases.progress as p
        where p.group_id = gl.group_id and p.lane = gl.lane order by p.seq desc limit 1
    ) as top
    where gl.group_id = (_range).group_id and (gl.lane = (_range).lane or (_range).moved) and top.lease_id is not null
    order by holds nulls last limit 1;
end;

comment on function leases._window_holds(leases.ranges) is
'Whether a holder has the range in hand (leased), finished (done) or put down since the ranges were last settled.';

revoke all on function leases._window_holds(leases.ranges) from public;
