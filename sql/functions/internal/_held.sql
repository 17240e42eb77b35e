-- H1: lock the lane's row, then see that the lease is the lane's current one.
create or replace function leases._held(_lease_id bigint, _heard boolean default true)
returns leases.progress
language plpgsql
as $_held$
-- The lock order everywhere: the lane's row (group_lanes), then its ranges by start.
-- The log is read in a statement of its own after the lock, so that it sees a takeover that was waited for.
-- Returns the draft of the log's next row: the state, one seq further; heard now, if the call counts as that (H3).
declare
    _grant leases.grants;
    _state leases.progress;
begin
    select g.* into _grant from leases.grants as g where g.lease_id = _lease_id;
    if found then
        if _grant.role <> leases._caller() then
            perform leases._check_role(_grant.role);
        end if;
        perform from leases.group_lanes as gl
            where gl.group_id = _grant.group_id and gl.lane = _grant.lane for update;
        select p.* into _state from leases.progress as p
            where p.group_id = _grant.group_id and p.lane = _grant.lane order by p.seq desc limit 1;
    end if;
    if _state.lease_id is distinct from _lease_id or _lease_id is null then
        perform leases._raise('LS001', 'the lease is lost',
            format('Lease %s is not the current one of its lane.', coalesce(_lease_id::text, 'null')),
            'Drop the window and stop work under this lease; lease a group again.');
    end if;
    return leases._draft(_state, _heard);
end;
$_held$;

comment on function leases._held(bigint, boolean) is
'Locks the lane and returns the draft of its next log row; raises lease_lost (LS001), insufficient_privilege (42501).';

revoke all on function leases._held(bigint, boolean) from public;
