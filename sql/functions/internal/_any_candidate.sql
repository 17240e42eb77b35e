-- Whether the lane has any candidate: a call that finds none leaves the turn alone (C4).
create or replace function leases._any_candidate(_lane leases.lanes, _others leases.candidate[])
returns boolean
language plpgsql
stable
as $_any_candidate$
begin
    return cardinality(_others) > 0 or exists (
        select from leases.choices as c
        where c.lane = _lane.lane and c.is_open and c.best_priority is not null);
end;
$_any_candidate$;

comment on function leases._any_candidate(leases.lanes, leases.candidate[]) is
'Whether there is anything to choose from.';

revoke all on function leases._any_candidate(leases.lanes, leases.candidate[]) from public;
