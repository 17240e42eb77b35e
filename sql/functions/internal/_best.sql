-- C3: the best candidate by the order whose turn it is, of those not tried; locked, if told to lock.
create or replace function leases._best(
    _lane leases.lanes, _others leases.candidate[], _tried bigint[], _biggest boolean, _lock boolean
)
returns leases.candidate
language plpgsql
as $_best$
-- _others stands beside the index: their rows of the choice are not up to date, or their holder is quiet. A row of the
-- choice may be held for up to 32 turns, and is passed over: the log has the truth. Locking as it goes passes over what
-- other calls have, too (C6); not where the others may win, or where the lane stands too far ahead: nothing stays locked
-- that is not taken. In unheld a lane stands where it belongs or before that; one found before it is moved, and the
-- next looked at.
declare
    _hidden bigint[] := _tried;
    _now timestamptz := leases._now();
    _quiet_before timestamptz := _now - make_interval(secs => extract(epoch from _lane.ttl)::double precision);
    _locks boolean := _lock and cardinality(_others) = 0;
    _best leases.candidate;
    _listed_at timestamptz;
begin
    if cardinality(_others) > 0 then
        _hidden := _tried || array(select o.group_id from unnest(_others) as o);
    end if;
    if _biggest then
        select c.group_id, c.best_priority, c.articles, p.heard_at, c.group_priority, coalesce(l.is_locked, false)
            into _best
        from leases.choices as c
        left join lateral (
            select t.lease_id, t.heard_at from leases.progress as t
            where t.group_id = c.group_id and t.lane = c.lane order by t.seq desc limit 1) as p on true
        left join lateral (
            select true as is_locked from leases.group_lanes as gl
            where _locks and gl.group_id = c.group_id and gl.lane = c.lane
                and leases._is_free(p.lease_id, p.heard_at, _quiet_before, _now)
            for update skip locked) as l on true
        where c.lane = _lane.lane and c.is_open
            and leases._is_free(p.lease_id, p.heard_at, _quiet_before, _now)
            and c.group_id <> all (_hidden)
            and (l.is_locked or not _locks)
        order by c.best_priority, c.articles desc, c.group_priority, c.group_id limit 1;
    else
        loop
            select u.group_id, u.best_priority, null::bigint, p.heard_at, u.group_priority, coalesce(l.is_locked, false),
                    u.heard_at
                into _best.group_id, _best.best_priority, _best.articles, _best.heard_at, _best.group_priority,
                    _best.is_locked, _listed_at
            from leases.unheld as u
            left join lateral (
                select t.lease_id, t.heard_at from leases.progress as t
                where t.group_id = u.group_id and t.lane = u.lane order by t.seq desc limit 1) as p on true
            left join lateral (
                select true as is_locked from leases.group_lanes as gl
                where _locks and gl.group_id = u.group_id and gl.lane = u.lane
                    and leases._is_free(p.lease_id, p.heard_at, _quiet_before, _now)
                    and p.heard_at is not distinct from u.heard_at
                for update skip locked) as l on true
            where u.lane = _lane.lane
                and leases._is_free(p.lease_id, p.heard_at, _quiet_before, _now)
                and u.group_id <> all (_hidden)
                and (l.is_locked or not _locks or p.heard_at is distinct from u.heard_at)
            order by u.best_priority, u.heard_at nulls first, u.group_priority, u.group_id limit 1;
            exit when _best.heard_at is not distinct from _listed_at;
            if not leases._bump(_best.group_id, _lane.lane, _best.heard_at) then
                _others := _others || _best;
                _hidden := _hidden || _best.group_id;
                _locks := false;
            end if;
        end loop;
    end if;
    if cardinality(_others) > 0 then
        select o.* into _best
        from unnest(_others || _best) as o
        where o.group_id is not null
            and o.group_id not in (select t.group_id from unnest(_tried) as t (group_id))
        order by o.best_priority, case when _biggest then o.articles end desc,
            case when not _biggest then o.heard_at end nulls first, o.group_priority, o.group_id
        limit 1;
    end if;
    return _best;
end;
$_best$;

comment on function leases._best(leases.lanes, leases.candidate[], bigint[], boolean, boolean) is
'The candidate that the turn''s order puts first, all null where there is none, and whether its lane is locked already.';

revoke all on function leases._best(leases.lanes, leases.candidate[], bigint[], boolean, boolean) from public;
