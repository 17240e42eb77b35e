-- Tell the choice that the lane is held now.
create or replace function leases._list_held(_draft leases.progress)
returns void
language plpgsql
as $_list_held$
-- Its figures wait: nobody reads those of a lane that is held. Where another call has the row, a note says to look again.
begin
    update leases.choices as c set held = true, is_open = false, heard_at = _draft.heard_at
    where (c.group_id, c.lane) in (
        select k.group_id, k.lane from leases.choices as k
        where k.group_id = _draft.group_id and k.lane = _draft.lane for update skip locked);
    if not found then
        insert into leases.notes (group_id, lane) values (_draft.group_id, _draft.lane);
    end if;
end;
$_list_held$;

comment on function leases._list_held(leases.progress) is
'Takes a lane that was granted off the choice.';

revoke all on function leases._list_held(leases.progress) from public;
