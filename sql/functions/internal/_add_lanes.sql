-- The rows that a lane of a group is locked and chosen by, from the first range planned in it.
create or replace function leases._add_lanes(_group_ids bigint[], _lanes text[])
returns void
language plpgsql
as $_add_lanes$
begin
    insert into leases.group_lanes (group_id, lane)
    select n.group_id, n.lane from unnest(_group_ids, _lanes) as n (group_id, lane)
    where n.lane <> ''
        and not exists (select from leases.group_lanes as gl where gl.group_id = n.group_id and gl.lane = n.lane)
    order by n.group_id, n.lane
    on conflict do nothing;
    insert into leases.choices (group_id, lane, group_priority)
    select n.group_id, n.lane, g.priority
    from unnest(_group_ids, _lanes) as n (group_id, lane)
    join leases.groups as g on g.group_id = n.group_id
    where n.lane <> ''
        and not exists (select from leases.choices as c where c.group_id = n.group_id and c.lane = n.lane)
    order by n.group_id, n.lane
    on conflict do nothing;
end;
$_add_lanes$;

comment on function leases._add_lanes(bigint[], text[]) is
'Makes the rows of those groups'' lanes where they are not there yet.';

revoke all on function leases._add_lanes(bigint[], text[]) from public;
