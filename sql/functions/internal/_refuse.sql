-- Refuse an argument that makes no sense (22023).
create or replace function leases._refuse(message text, detail text, hint text)
returns void
language sql
as $_refuse$
    select leases._raise('22023', message, detail, hint);
$_refuse$;

comment on function leases._refuse(text, text, text) is
'Raises invalid_parameter_value (22023) with DETAIL and HINT.';

revoke all on function leases._refuse(text, text, text) from public;
