-- N4: whether a range that was moved here is still in another lane's window (in hand, put down or finished there).
create or replace function leases._live_elsewhere(_range leases.ranges, _lane text)
returns boolean
language sql
stable
begin atomic
    select exists(
        select 1 from leases.group_lanes as gl
        cross join lateral (
            select p.* from leases.progress as p
            where p.group_id = gl.group_id and p.lane = gl.lane order by p.seq desc limit 1
        ) as top
        where gl.group_id = (_range).group_id and gl.lane <> _lane and top.lease_id is not null
            and (
                top.range_id = (_range).range_id
                or exists (
                    select 1 from leases.progress as p
                    where p.group_id = gl.group_id and p.lane = gl.lane and p.seq > top.live_after
                        and p.finished_id = (_range).range_id
                )
                or exists (
                    select 1 from leases.put_down as d
                    where d.group_id = gl.group_id and d.lane = gl.lane and d.range_id = (_range).range_id
                        and d.next_id > (_range).start_id
                )
            )
    );
end;

comment on function leases._live_elsewhere(leases.ranges, text) is
'Whether another lane''s holder has that range in its window.';

revoke all on function leases._live_elsewhere(leases.ranges, text) from public;
