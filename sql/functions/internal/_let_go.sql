-- End the lease of a settled lane.
create or replace function leases._let_go(_draft leases.progress, _what text)
returns void
language plpgsql
as $_let_go$
begin
    _draft.lease_id := null;
    perform leases._log(_draft, _what);
    perform leases._list_free(_draft);
end;
$_let_go$;

comment on function leases._let_go(leases.progress, text) is
'Ends the lease of a settled lane and frees the lane.';

revoke all on function leases._let_go(leases.progress, text) from public;
