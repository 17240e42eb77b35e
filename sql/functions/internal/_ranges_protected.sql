-- Before plain SQL writes where a range lies, stands or what it is, even to the same value: not while a window has it.
create or replace function leases._ranges_protected()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
as $_ranges_protected$
declare
    _holds text := leases._window_holds(old);
begin
    if _holds in ('leased', 'done') then
        perform leases._in_window(old, _holds);
    end if;
    return new;
end;
$_ranges_protected$;

comment on function leases._ranges_protected() is
'Trigger: refuses plain SQL on a range that a holder has in hand or has finished since its snapshot (55006).';

revoke all on function leases._ranges_protected() from public;

create or replace trigger ranges_rewritten_row
before update of range_id, group_id, start_id, end_id, next_id, status on leases.ranges
for each row when (
    current_setting('leases.internal', true) is distinct from 'on'
    or not has_table_privilege('leases.progress', 'insert')
)
execute function leases._ranges_protected();
