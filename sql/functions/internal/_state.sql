-- The lane's newest row of the log; all null where nobody ever held it.
create or replace function leases._state(_group_id bigint, _lane text)
returns leases.progress
language plpgsql
stable
as $_state$
declare
    _state leases.progress;
begin
    select p.* into _state from leases.progress as p
        where p.group_id = _group_id and p.lane = _lane
        order by p.seq desc limit 1;
    return _state;
end;
$_state$;

comment on function leases._state(bigint, text) is
'The newest row of the lane''s log, which is the lane''s state.';

revoke all on function leases._state(bigint, text) from public;
