-- Lock a candidate's lane and see that it still is one; settle it where its holder is quiet.
create or replace function leases._take(_lane leases.lanes, _candidate leases.candidate)
returns leases.progress
language plpgsql
as $_take$
declare
    _draft leases.progress;
    _figures record;
begin
    if not _candidate.is_locked then
        perform from leases.group_lanes as gl
            where gl.group_id = _candidate.group_id and gl.lane = _lane.lane for update skip locked;
        if not found then
            return null;
        end if;
    end if;
    _draft := leases._draft(_candidate.group_id, _lane.lane, true);
    if _draft.lease_id is not null or not leases._is_listed(_candidate.group_id, _lane.lane) then
        select f.* into _figures from leases._figures(_lane, array[_candidate.group_id]) as f;
        if not _figures.is_active or _figures.best_priority is null
            or (_figures.lease_id is not null and not leases._is_quiet(_figures.heard_at, _lane.ttl)) then
            if _figures.lease_id is not null and _figures.heard_at > leases._now() then
                perform leases._heard(_lane, _candidate.group_id, _figures.heard_at);
            end if;
            return null;
        end if;
    end if;
    if _draft.lease_id is not null then
        _draft := leases._settle(_draft, true);
    end if;
    return _draft;
end;
$_take$;

comment on function leases._take(leases.lanes, leases.candidate) is
'The draft of a lane that is the caller''s to grant, or null.';

revoke all on function leases._take(leases.lanes, leases.candidate) from public;
