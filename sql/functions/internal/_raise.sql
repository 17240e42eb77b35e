-- Raise an error in the one shape: SQLSTATE, what is wrong, the values, what to do now.
create or replace function leases._raise(errcode text, message text, detail text, hint text)
returns void
language plpgsql
as $_raise$
begin
    raise exception using errcode = errcode, message = message, detail = detail, hint = hint;
end;
$_raise$;

comment on function leases._raise(text, text, text, text) is
'Raises an error with its SQLSTATE, message, DETAIL and HINT.';

revoke all on function leases._raise(text, text, text, text) from public;
