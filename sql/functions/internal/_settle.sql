-- S: bring the lane back to what its current snapshot covers, and return its state with an empty window.
create or replace function leases._settle(_draft leases.progress, _quiet boolean)
returns leases.progress
language plpgsql
as $_settle$
begin
    update leases.snapshots as s set status = 'aborted'
        where s.group_id = _draft.group_id and s.lane = _draft.lane and s.status = 'pending';
    if _draft.high_id >= 0 then -- something was handed out since the lane was settled last
        perform leases._lose_window(_draft, _quiet);
    end if;
    return leases._trim(leases._emptied(_draft));
end;
$_settle$;

comment on function leases._settle(leases.progress, boolean) is
'Settles the lane (rules S) and returns the draft with nothing in hand; a quiet holder''s range may be parked (F4).';

revoke all on function leases._settle(leases.progress, boolean) from public;
