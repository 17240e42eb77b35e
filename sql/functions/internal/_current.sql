-- The lane's current snapshot: the last one committed that was not found unusable.
create or replace function leases._current(_group_id bigint, _lane text)
returns leases.snapshots
language plpgsql
stable
as $_current$
declare
    _current leases.snapshots;
begin
    select s.* into _current from leases.snapshots as s
        where s.group_id = _group_id and s.lane = _lane and s.status = 'kept'
        order by s.snapshot_id desc limit 1;
    return _current;
end;
$_current$;

comment on function leases._current(bigint, text) is
'The lane''s current snapshot, or all null.';

revoke all on function leases._current(bigint, text) from public;
