-- F2: whether this lease has finished that range, and it still counts as finished.
create or replace function leases._has_finished(_state leases.progress, _range_id bigint)
returns boolean
language plpgsql
stable
as $_has_finished$
-- A call repeated after a lost answer names the range finished last: the log is read backward.
begin
    perform from leases.progress as p
        where p.group_id = _state.group_id and p.lane = _state.lane and p.seq > _state.live_after
            and p.lease_id = _state.lease_id and p.finished_id = _range_id
        order by p.seq desc limit 1;
    return found or exists (
        select from leases.ranges as r
        where r.range_id = _range_id and r.status = 'done' and r.done_by = _state.lease_id
    );
end;
$_has_finished$;

comment on function leases._has_finished(leases.progress, bigint) is
'Whether the lease finished that range already.';

revoke all on function leases._has_finished(leases.progress, bigint) from public;
