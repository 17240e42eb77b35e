-- The floor: one PL/pgSQL call that updates two rows by key and commits. Each caller has rows of its own, on
-- pages of their own with room for new versions, so this is the fastest that two updates can be.
create schema floor;

create table floor.rows (
    id integer primary key,
    n bigint not null default 0
) with (fillfactor = 50);

insert into floor.rows (id) select generate_series(1, 32000);

create function floor.two(first integer, second integer)
returns bigint
language plpgsql
as $two$
declare
    _n bigint;
begin
    update floor.rows set n = n + 1 where id = first returning n into _n;
    update floor.rows set n = n + 1 where id = second;
    return _n;
end;
$two$;

-- One row inserted and committed, with no index: what a commit costs on this machine at this moment.
create table floor.log (at timestamptz not null default clock_timestamp());

create function floor.append()
returns void
language plpgsql
as $append$
begin
    insert into floor.log default values;
end;
$append$;
