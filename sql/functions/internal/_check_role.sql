-- A node and its leases belong to the role that registered it; administrators may act for every node. Who may only hand
-- that role on, or has yet to SET ROLE to it, is none.
create or replace function leases._check_role(_role text)
returns void
language plpgsql
stable
as $_check_role$
declare
    _caller text := leases._caller();
begin
    if _caller <> _role and not pg_has_role(_caller, 'leases_admin', 'usage') then
        perform leases._raise('42501', 'the node belongs to another role',
            format('The node was registered by role %s, the caller is %s.', _role, _caller),
            'Register a node of your own, or let a member of leases_admin do it.');
    end if;
end;
$_check_role$;

comment on function leases._check_role(text) is
'Raises insufficient_privilege (42501) unless the caller is that role or an administrator.';

revoke all on function leases._check_role(text) from public;
