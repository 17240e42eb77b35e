-- H1: lock the lane's row, then see that the lease is the lane's current one.
create or replace function leases._held(_lease_id bigint, _heard boolean default true)
returns leases.progress
language plpgsql
as $_held$
-- The lock order everywhere: the lane's row (group_lanes), then its ranges by start.
-- The log is read in a statement of its own after the lock, so that it sees a takeover that was waited for.
declare
    _group_id bigint;
    _lane text;
    _role text;
    _draft leases.progress;
begin
    select g.group_id, g.lane, g.role into _group_id, _lane, _role
        from leases.grants as g
        join leases.group_lanes as gl on gl.group_id = g.group_id and gl.lane = g.lane
        where g.lease_id = _lease_id for update of gl;
    _draft := leases._draft(_group_id, _lane, _heard);
    if _draft.lease_id = _lease_id and _role = leases._caller() then
        return _draft;
    end if;
    if _role is not null then
        perform leases._check_role(_role);
    end if;
    if _draft.lease_id is distinct from _lease_id or _role is null then
        perform leases._raise('LS001', 'the lease is lost',
            format('Lease %s is not the current one of its lane.', coalesce(_lease_id::text, 'null')),
            'Drop the window and stop work under this lease; lease a group again.');
    end if;
    return _draft;
end;
$_held$;

comment on function leases._held(bigint, boolean) is
'Locks the lane and returns the draft of its next log row, heard now if told so; raises lease_lost (LS001), insufficient_privilege (42501).';

revoke all on function leases._held(bigint, boolean) from public;
