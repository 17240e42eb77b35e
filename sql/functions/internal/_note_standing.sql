-- S1: note the standing point of each range of the lane that was begun and is not done.
create or replace function leases._note_standing(_draft leases.progress, _snapshot_id bigint, _next_id bigint)
returns void
language plpgsql
as $_note_standing$
begin
    insert into leases.standing_points as sp (snapshot_id, range_id, next_id)
    select _snapshot_id, n.range_id, n.next_id
    from (
        select _draft.range_id as range_id, _next_id as next_id where _draft.range_id is not null
        union all
        select d.range_id, d.next_id from leases.put_down as d
        where d.group_id = _draft.group_id and d.lane = _draft.lane
        union all
        select r.range_id, r.next_id from leases.ranges as r
        where r.group_id = _draft.group_id and r.lane = _draft.lane and r.next_id > r.start_id and r.status <> 'done'
            and r.range_id is distinct from _draft.range_id
            and not exists (
                select from leases.put_down as d
                where d.group_id = r.group_id and d.lane = r.lane and d.range_id = r.range_id)
            and r.range_id <> all (array(
                select p.finished_id from leases.progress as p
                where p.group_id = _draft.group_id and p.lane = _draft.lane and p.seq > _draft.live_after
                    and p.finished_id is not null))
    ) as n;
end;
$_note_standing$;

comment on function leases._note_standing(leases.progress, bigint, bigint) is
'Writes the standing points of a snapshot that begins.';

revoke all on function leases._note_standing(leases.progress, bigint, bigint) from public;
