-- Refuse plain SQL on a range that a holder's window has (55006).
create or replace function leases._in_window(_range leases.ranges, _holds text)
returns void
language sql
as $_in_window$
    select leases._raise('55006', 'the range is in the window of a holder',
        format('Range %s (%s..%s of group %s) is %s by the holder of its lane.', (_range).range_id, (_range).start_id,
            (_range).end_id, (_range).group_id, case _holds when 'done' then 'finished' else 'in hand' end),
        'End the lease first (end_lease), or wait for the holder''s next snapshot or its give-back.');
$_in_window$;

comment on function leases._in_window(leases.ranges, text) is
'Raises object_in_use (55006).';

revoke all on function leases._in_window(leases.ranges, text) from public;
