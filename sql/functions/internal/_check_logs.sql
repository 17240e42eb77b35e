-- The lists of plan_logs belong together, name no group twice, and make sense (L4).
create or replace function leases._check_logs(_names text[], _lows bigint[], _highs bigint[])
returns void
language plpgsql
immutable
as $_check_logs$
declare
    _twice text;
begin
    if _names is null or cardinality(_names) is distinct from cardinality(_lows)
        or cardinality(_names) is distinct from cardinality(_highs) then
        perform leases._refuse('the lists of logs do not belong together',
            format('Got %s names, %s lows and %s highs.', coalesce(cardinality(_names)::text, 'no'),
                coalesce(cardinality(_lows)::text, 'no'), coalesce(cardinality(_highs)::text, 'no')),
            'Give as many of each.');
    end if;
    perform leases._check_name('group', l.name), leases._check_span(l.low, l.high)
    from unnest(_names, _lows, _highs) as l (name, low, high);
    select l.name into _twice from unnest(_names) as l (name) group by l.name having count(*) > 1 limit 1;
    if found then
        perform leases._refuse('a group is listed twice', format('Got %L more than once.', left(_twice, 40)),
            'List each group once.');
    end if;
end;
$_check_logs$;

comment on function leases._check_logs(text[], bigint[], bigint[]) is
'Raises invalid_parameter_value (22023) unless the lists of logs belong together and make sense.';

revoke all on function leases._check_logs(text[], bigint[], bigint[]) from public;
