-- A lease that has lasted for 32 turns: take its lane off the choice, so that nobody passes over it again and again.
create or replace function leases._unlist_held(_lane text, _turn bigint)
returns void
language plpgsql
as $_unlist_held$
-- By a note, since the lane is its holder's: who adds up next reads the log after locking the row of the choice.
begin
    insert into leases.notes (group_id, lane)
    select g.group_id, g.lane from leases.grants as g
    where g.lane = _lane and g.turn = _turn - 32 and (leases._state(g.group_id, g.lane)).lease_id = g.lease_id;
end;
$_unlist_held$;

comment on function leases._unlist_held(text, bigint) is
'Notes the lane granted 32 turns before, if that lease still stands.';

revoke all on function leases._unlist_held(text, bigint) from public;
