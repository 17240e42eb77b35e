-- C2, C8, C9: candidates whose holder is quiet; ends leases of the quiet that have nothing left to offer.
create or replace function leases._quiet_ones(_lane leases.lanes)
returns leases.candidate[]
language plpgsql
as $_quiet_ones$
-- choices.heard_at is a lower bound that is looked up here at most once a ttl; the log has the truth.
declare
    _now timestamptz := leases._now();
    _suspects bigint[];
    _figures record;
    _found leases.candidate[] := array[]::leases.candidate[];
    _ended integer := 0;
begin
    _suspects := array(
        select c.group_id from leases.choices as c
        where c.lane = _lane.lane and c.held
            and c.heard_at < _now - make_interval(secs => extract(epoch from _lane.ttl)::double precision)
        union all
        select c.group_id from leases.choices as c where c.lane = _lane.lane and c.held and c.heard_at > _now);
    if cardinality(_suspects) = 0 then
        return _found;
    end if;
    for _figures in select f.* from leases._figures(_lane, _suspects) as f where f.lease_id is not null loop
        if leases._is_quiet(_figures.heard_at, _lane.ttl) then
            if _figures.best_priority is not null then
                if _figures.is_active then
                    _found := _found || row(_figures.group_id, _figures.best_priority, _figures.articles,
                        _figures.heard_at, _figures.group_priority)::leases.candidate;
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
