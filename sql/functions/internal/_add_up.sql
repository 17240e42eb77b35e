-- Add up the notes of a lane; return as candidates those groups whose row of the choice another call has.
create or replace function leases._add_up(_lane leases.lanes)
returns leases.candidate[]
language plpgsql
as $_add_up$
declare
    _noted bigint[];
    _all boolean;
    _mine bigint[];
    _left bigint[];
begin
    select array_agg(distinct n.group_id) filter (where n.group_id is not null), bool_or(n.group_id is null)
        into _noted, _all from leases.notes as n where n.lane = _lane.lane;
    if _all then
        _noted := array(select gl.group_id from leases.group_lanes as gl where gl.lane = _lane.lane);
        delete from leases.notes as n
            where n.note_id in (
                select k.note_id from leases.notes as k
                where k.lane = _lane.lane and k.group_id is null for update skip locked);
    elsif _noted is null then
        return array[]::leases.candidate[];
    end if;
    _mine := array(
        select c.group_id from leases.choices as c
        where c.lane = _lane.lane and c.group_id = any(_noted) order by c.group_id for update skip locked);
    perform leases._refresh(_lane, m.group_id) from unnest(_mine) as m (group_id);
    if cardinality(_mine) = cardinality(_noted) then
        return array[]::leases.candidate[];
    end if;
    _left := array(select g.group_id from unnest(_noted) as g (group_id) except select unnest(_mine));
    if _all then
        insert into leases.notes (group_id, lane) select g.group_id, _lane.lane from unnest(_left) as g (group_id);
    end if;
    return array(
        select row(f.group_id, f.best_priority, f.articles, f.heard_at, f.group_priority, false)::leases.candidate
        from leases._figures(_lane, _left) as f
        where f.is_active and f.best_priority is not null
            and (f.lease_id is null or leases._is_quiet(f.heard_at, _lane.ttl)));
end;
$_add_up$;

comment on function leases._add_up(leases.lanes) is
'Brings the choice up to date and returns the candidates that it can not see.';

revoke all on function leases._add_up(leases.lanes) from public;
