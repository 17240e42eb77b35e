-- Put a lane to where it belongs in the order of the longest unheld. False where another call has its row.
create or replace function leases._bump(_group_id bigint, _lane text, _heard_at timestamptz)
returns boolean
language plpgsql
as $_bump$
begin
    perform from leases.choices as c where c.group_id = _group_id and c.lane = _lane for update skip locked;
    if found then
        update leases.unheld as u set heard_at = _heard_at where u.group_id = _group_id and u.lane = _lane;
        return true;
    end if;
    return false;
end;
$_bump$;

comment on function leases._bump(bigint, text, timestamptz) is
'Writes down when a lane of the choice was last heard; false where its row is locked.';

revoke all on function leases._bump(bigint, text, timestamptz) from public;
