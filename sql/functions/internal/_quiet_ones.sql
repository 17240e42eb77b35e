-- C2, C8, C9: candidates whose holder is quiet; ends leases of the quiet that have nothing left to offer.
create or replace function leases._quiet_ones(_lane leases.lanes)
returns leases.candidate[]
language plpgsql
as $_quiet_ones$
-- choices.heard_at is a lower bound that is looked up here at most once a ttl; the log has the truth. Of the last
-- 32 leases granted the choice may not know yet; those granted within the ttl have been heard since.
declare
    _now timestamptz := leases._now();
    _quiet_before timestamptz := _now - make_interval(secs => extract(epoch from _lane.ttl)::double precision);
    _suspects bigint[];
    _figures record;
    _found leases.candidate[] := array[]::leases.candidate[];
    _ended integer := 0;
    _all_heard boolean;
begin
    _suspects := array(
        select c.group_id from leases.choices as c
        where c.lane = _lane.lane and c.held and c.heard_at < _quiet_before
        union all
        select c.group_id from leases.choices as c
        where c.lane = _lane.lane and c.held and c.heard_at > _now
        union all
        select g.group_id
        from leases.grants as g
        cross join lateral (
            select p.lease_id, p.heard_at from leases.progress as p
            where p.group_id = g.group_id and p.lane = g.lane order by p.seq desc limit 1) as top
        where g.lane = _lane.lane and g.turn > (
            select t.turn from leases.grants as t where t.lane = _lane.lane order by t.turn desc limit 1) - 32
            and (g.granted_at < _quiet_before or g.granted_at > _now)
            and top.lease_id = g.lease_id and (top.heard_at < _quiet_before or top.heard_at > _now));
    if cardinality(_suspects) = 0 then
        return _found;
    end if;
    _all_heard := leases._up_since() >= _quiet_before;
    for _figures in select f.* from leases._figures(_lane, _suspects) as f where f.lease_id is not null loop
        if _figures.heard_at < _quiet_before and not _all_heard then
            if _figures.best_priority is not null then
                if _figures.is_active then
                    _found := _found || row(_figures.group_id, _figures.best_priority, _figures.articles,
                        _figures.heard_at, _figures.group_priority, false)::leases.candidate;
                end if;
            elsif _ended < 16 then
                _ended := _ended + leases._end_quiet(_lane, _figures.group_id);
            end if;
        else
            perform leases._heard(_lane, _figures.group_id, _figures.heard_at);
        end if;
    end loop;
    return _found;
end;
$_quiet_ones$;

comment on function leases._quiet_ones(leases.lanes) is
'Returns the quiet holders'' lanes that are candidates.';

revoke all on function leases._quiet_ones(leases.lanes) from public;
