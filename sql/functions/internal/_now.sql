-- The one clock (H4): the server's, as the change is made.
create or replace function leases._now()
returns timestamptz
language sql
volatile
return clock_timestamp();

comment on function leases._now() is
'The one clock of all lease logic: the database server''s, read after any lock wait.';

revoke all on function leases._now() from public;
