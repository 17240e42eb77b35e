-- After a lease ended: see that the choice has the lane.
create or replace function leases._list_free(_draft leases.progress)
returns void
language plpgsql
as $_list_free$
-- A short lease leaves the lane open there. With no note since, its figures are those of the settled lane still.
begin
    if not leases._is_listed(_draft.group_id, _draft.lane) then
        perform leases._refresh_one(_draft.group_id, _draft.lane);
    end if;
end;
$_list_free$;

comment on function leases._list_free(leases.progress) is
'Puts a lane whose lease ended on the choice, where it is not there already.';

revoke all on function leases._list_free(leases.progress) from public;
