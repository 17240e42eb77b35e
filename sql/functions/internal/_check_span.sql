-- L4: true where start_id..end_id holds articles, false where it is empty (start_id = end_id + 1), else 22023.
create or replace function leases._check_span(_start_id bigint, _end_id bigint)
returns boolean
language plpgsql
immutable
as $_check_span$
begin
    if _start_id is null or _end_id is null or _start_id < 0 or _end_id < -1
        or _end_id = 9223372036854775807 or _start_id - 1 > _end_id then
        perform leases._refuse('the span of articles makes no sense',
            format('Got %s..%s.', coalesce(_start_id::text, 'null'), coalesce(_end_id::text, 'null')),
            'Give 0 <= start_id <= end_id <= 9223372036854775806, or start_id = end_id + 1 for an empty span.');
    end if;
    return _start_id <= _end_id;
end;
$_check_span$;

comment on function leases._check_span(bigint, bigint) is
'Whether start_id..end_id holds articles; raises invalid_parameter_value (22023) where it makes no sense.';

revoke all on function leases._check_span(bigint, bigint) from public;
