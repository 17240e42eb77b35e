-- F2, F3: the range is not the one in hand.
create or replace function leases._not_held(_state leases.progress, _range_id bigint)
returns void
language sql
as $_not_held$
    select leases._raise('LS002', 'the range is not in hand under this lease',
        format('Got range %s under lease %s; in hand is %s.', coalesce(_range_id::text, 'none'),
            (_state).lease_id, coalesce((_state).range_id::text, 'none')),
        'Call next_range and work on the range that it returns.');
$_not_held$;

comment on function leases._not_held(leases.progress, bigint) is
'Raises range_not_held (LS002).';

revoke all on function leases._not_held(leases.progress, bigint) from public;
