-- Whether the choice says that the lane is free and a candidate, with nothing noted since.
create or replace function leases._is_listed(_lane text, _group_id bigint)
returns boolean
language plpgsql
stable
as $_is_listed$
begin
    return exists (
        select from leases.choices as c
        where c.group_id = _group_id and c.lane = _lane and c.is_open
            and not exists (select from leases.notes as n where n.lane = c.lane and n.group_id = c.group_id)
            and not exists (select from leases.notes as n where n.lane = c.lane and n.group_id is null));
end;
$_is_listed$;

comment on function leases._is_listed(text, bigint) is
'Whether the group''s row of the choice is open and exact.';

revoke all on function leases._is_listed(text, bigint) from public;
