-- C4: the number of the lane's next turn. Odd: the biggest. Even: the longest unheld.
create or replace function leases._take_turn(_lane text)
returns bigint
language plpgsql
as $_take_turn$
-- The last turn granted and committed, plus one. A grant still in flight has its turn locked until its transaction ends:
-- a call at the same time takes the turn after it. Nothing is left behind by a rollback.
declare
    _turn bigint;
begin
    select coalesce(max(g.turn), 0) + 1 into _turn from leases.grants as g where g.lane = _lane;
    for _further in 0..31 loop
        if pg_try_advisory_xact_lock(hashtext('leases turn ' || _lane), ((_turn + _further) % 2147483647)::integer) then
            return _turn + _further;
        end if;
    end loop;
    return _turn;
end;
$_take_turn$;

comment on function leases._take_turn(text) is
'The number of the lane''s next turn.';

revoke all on function leases._take_turn(text) from public;
