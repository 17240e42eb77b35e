-- The least that our design can do: the statements that it can't be without, in one function each, on its own tables.
-- Nothing is checked, refused or settled. What is between this and the product is what the contract asks for besides;
-- what is between this and the floor is the design's.
create schema least;

-- The lane's lock and its newest log row; the next range with its lock; the new log row.
create function least.finish_and_next(_lease_id bigint, _range_id bigint)
returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $finish_and_next$
declare
    _group_id bigint;
    _lane text;
    _top record;
    _next record;
begin
    select g.group_id, g.lane into _group_id, _lane
        from leases.grants as g
        join leases.group_lanes as gl on gl.group_id = g.group_id and gl.lane = g.lane
        where g.lease_id = _lease_id for update of gl;
    select p.seq, p.attempts, p.cursor_id, p.live_after, p.trimmed_to, p.settings_version into _top
        from leases.progress as p
        where p.group_id = _group_id and p.lane = _lane order by p.seq desc limit 1;
    select r.range_id, r.start_id, r.end_id, r.next_id, r.attempts into _next
        from leases.ranges as r
        where r.group_id = _group_id and r.lane = _lane and r.status = 'planned' and r.start_id > _top.cursor_id
        order by r.start_id limit 1 for update;
    insert into leases.progress (group_id, lane, seq, lease_id, heard_at, moved_at, range_id, start_id, end_id, next_id,
        rules_version, attempts, finished_id, finished_headers, finished_attempts, finished_rules, cursor_id, high_id,
        live_after, trimmed_to, settings_version, what)
    values (_group_id, _lane, _top.seq + 1, _lease_id, clock_timestamp(), clock_timestamp(), _next.range_id,
        _next.start_id, _next.end_id, _next.next_id, 0, _next.attempts + 1, _range_id, 100, _top.attempts, 0,
        _next.start_id, _next.start_id, _top.live_after, _top.trimmed_to, _top.settings_version, 'next');
    return _next.range_id;
end;
$finish_and_next$;

-- The lane's lock and its newest log row; the new log row.
create function least.heartbeat(_lease_id bigint, _next_id bigint)
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $heartbeat$
declare
    _group_id bigint;
    _lane text;
    _top leases.progress;
begin
    select g.group_id, g.lane into _group_id, _lane
        from leases.grants as g
        join leases.group_lanes as gl on gl.group_id = g.group_id and gl.lane = g.lane
        where g.lease_id = _lease_id for update of gl;
    select p.* into _top from leases.progress as p
        where p.group_id = _group_id and p.lane = _lane order by p.seq desc limit 1;
    _top.seq := _top.seq + 1;
    _top.heard_at := clock_timestamp();
    _top.next_id := _next_id;
    insert into leases.progress values (_top.*);
end;
$heartbeat$;

-- The choice by one order, with the lane's lock; its newest log row; the grant; the new log row.
create function least.lease_group(_node_id bigint)
returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $lease_group$
declare
    _best record;
    _top leases.progress;
    _lease_id bigint := nextval('leases.lease_ids');
begin
    loop
        select c.group_id, c.lane into _best
            from leases.choices as c
            left join lateral (
                select t.lease_id from leases.progress as t
                where t.group_id = c.group_id and t.lane = c.lane order by t.seq desc limit 1) as p on true
            cross join lateral (
                select from leases.group_lanes as gl
                where gl.group_id = c.group_id and gl.lane = c.lane and p.lease_id is null
                for update skip locked) as l
            where c.lane = 'history' and c.is_open
            order by c.best_priority, c.articles desc, c.group_priority, c.group_id limit 1;
        select p.* into _top from leases.progress as p
            where p.group_id = _best.group_id and p.lane = _best.lane order by p.seq desc limit 1;
        exit when _top.lease_id is null; -- else it was taken between the look and the lock
    end loop;
    insert into leases.grants (lease_id, group_id, node_id, turn, granted_at, lane, role)
    values (_lease_id, _best.group_id, _node_id, 0, clock_timestamp(), _best.lane, session_user);
    insert into leases.progress (group_id, lane, seq, lease_id, heard_at, moved_at, what)
    values (_best.group_id, _best.lane, coalesce(_top.seq, 0) + 1, _lease_id, clock_timestamp(), clock_timestamp(), 'grant');
    return _lease_id;
end;
$lease_group$;

-- The lane's lock and its newest log row; the new log row.
create function least.release_group(_lease_id bigint)
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $release_group$
declare
    _group_id bigint;
    _lane text;
    _top leases.progress;
begin
    select g.group_id, g.lane into _group_id, _lane
        from leases.grants as g
        join leases.group_lanes as gl on gl.group_id = g.group_id and gl.lane = g.lane
        where g.lease_id = _lease_id for update of gl;
    select p.* into _top from leases.progress as p
        where p.group_id = _group_id and p.lane = _lane order by p.seq desc limit 1;
    _top.seq := _top.seq + 1;
    _top.lease_id := null;
    _top.what := 'release';
    insert into leases.progress values (_top.*);
end;
$release_group$;
