-- Tell the choice that the lane is free again.
create or replace function leases._list_free(_draft leases.progress)
returns void
language plpgsql
as $_list_free$
-- Exact figures, with no note since, are those of the settled lane still.
begin
    update leases.choices as c
    set held = false, heard_at = _draft.heard_at,
        is_open = c.best_priority is not null
            and (select g.active from leases.groups as g where g.group_id = c.group_id)
    where (c.group_id, c.lane) in (
        select k.group_id, k.lane from leases.choices as k
        where k.group_id = _draft.group_id and k.lane = _draft.lane and k.exact for update skip locked)
        and not exists (
            select from leases.notes as n where n.lane = _draft.lane and n.group_id = _draft.group_id);
    if not found then
        perform leases._refresh_one(_draft.group_id, _draft.lane);
    end if;
end;
$_list_free$;

comment on function leases._list_free(leases.progress) is
'Puts a lane whose lease ended back on the choice.';

revoke all on function leases._list_free(leases.progress) from public;
