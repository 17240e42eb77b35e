-- L3: a TRUNCATE would take the ranges away from under their figures and holders.
create or replace function leases._no_truncate()
returns trigger
language plpgsql
as $_no_truncate$
begin
    perform leases._raise('0A000', 'leases.ranges can not be truncated',
        'The figures of the choice follow the rows, and a holder may have one in hand.',
        'Use DELETE, or restart_group for a group.');
    return null;
end;
$_no_truncate$;

comment on function leases._no_truncate() is
'Trigger: refuses TRUNCATE (0A000).';

revoke all on function leases._no_truncate() from public;

create or replace trigger ranges_truncating before truncate on leases.ranges
for each statement execute function leases._no_truncate();
