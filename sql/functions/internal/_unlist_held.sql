-- Leases that have lasted for 16 to 32 turns: take their lanes off the choice, so that nobody passes over them again and
-- again. Called every 16 turns.
create or replace function leases._unlist_held(_lane text, _turn bigint)
returns void
language plpgsql
as $_unlist_held$
-- By a note, since the lane is its holder's: who adds up next reads the log after locking the row of the choice.
begin
    insert into leases.notes (group_id, lane)
    select g.group_id, g.lane from leases.grants as g
    cross join lateral (
        select p.lease_id from leases.progress as p
        where p.group_id = g.group_id and p.lane = g.lane order by p.seq desc limit 1) as top
    where g.lane = _lane and g.turn > _turn - 32 and g.turn <= _turn - 16 and top.lease_id = g.lease_id;
end;
$_unlist_held$;

comment on function leases._unlist_held(text, bigint) is
'Notes the lanes granted 16 to 31 turns before, where that lease still stands.';

revoke all on function leases._unlist_held(text, bigint) from public;
