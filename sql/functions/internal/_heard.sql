-- Keep for the choice when a holder was heard; a time in the future counts as heard when it is found (C9).
create or replace function leases._heard(_lane leases.lanes, _group_id bigint, _heard_at timestamptz)
returns void
language plpgsql
as $_heard$
declare
    _draft leases.progress;
begin
    if _heard_at > leases._now() then
        perform from leases.group_lanes as gl
            where gl.group_id = _group_id and gl.lane = _lane.lane for update skip locked;
        if not found then
            return;
        end if;
        _draft := leases._draft(_group_id, _lane.lane, true);
        _draft := leases._log(_draft, 'clock');
        _heard_at := _draft.heard_at;
    end if;
    update leases.choices as c set heard_at = _heard_at
    where (c.group_id, c.lane) in (
        select k.group_id, k.lane from leases.choices as k
        where k.group_id = _group_id and k.lane = _lane.lane for update skip locked);
end;
$_heard$;

comment on function leases._heard(leases.lanes, bigint, timestamptz) is
'Writes down when a holder was last heard, for the next look at who is quiet.';

revoke all on function leases._heard(leases.lanes, bigint, timestamptz) from public;
