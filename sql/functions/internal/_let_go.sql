-- End the lease of a settled lane.
create or replace function leases._let_go(_draft leases.progress, _what text)
returns leases.progress
language plpgsql
as $_let_go$
-- A short lease leaves the lane open in the choice. With no note since, its figures are those of the settled lane still.
begin
    _draft.lease_id := null;
    _draft := leases._log(_draft, _what);
    if not leases._is_listed(_draft.group_id, _draft.lane) then
        perform leases._refresh_one(_draft.group_id, _draft.lane);
    end if;
    return _draft;
end;
$_let_go$;

comment on function leases._let_go(leases.progress, text) is
'Ends the lease of a settled lane and sees that the choice has the lane; returns its state.';

revoke all on function leases._let_go(leases.progress, text) from public;
