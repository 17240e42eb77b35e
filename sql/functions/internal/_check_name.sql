-- L4: names are 1 to 500 characters and not only blanks. No backslash anywhere: what it says is the session's to change.
create or replace function leases._check_name(_kind text, _name text)
returns void
language plpgsql
immutable
as $_check_name$
begin
    if _name is null or char_length(_name) not between 1 and 500 or _name !~ '[^[:space:]]' then
        perform leases._refuse(format('the %s name makes no sense', _kind),
            format('Got %s.', case when _name is null then 'null'
                else format('%s characters: %L', char_length(_name), left(_name, 40)) end),
            'Give 1 to 500 characters, not only blanks.');
    end if;
end;
$_check_name$;

comment on function leases._check_name(text, text) is
'Raises invalid_parameter_value (22023) unless the name has 1 to 500 characters and is not blank.';

revoke all on function leases._check_name(text, text) from public;
