-- Who calls: the role set with SET ROLE, else the session's. Inside a definer function current_user is the owner.
create or replace function leases._caller()
returns text
language sql
stable
return coalesce(nullif(current_setting('role'), 'none'), session_user::text);

comment on function leases._caller() is
'The role that the caller works as: what SET ROLE says, else the session''s user.';

revoke all on function leases._caller() from public;
