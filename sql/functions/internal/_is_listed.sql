-- Whether the choice has the group's lane as open, with nothing noted of it since.
create or replace function leases._is_listed(_group_id bigint, _lane text)
returns boolean
language plpgsql
stable
as $_is_listed$
-- An open row was added up while nobody held the lane; it may be held now.
begin
    return exists (
        select from leases.choices as c
        where c.group_id = _group_id and c.lane = _lane and c.is_open
            and not exists (select from leases.notes as n where n.lane = c.lane and n.group_id = c.group_id)
            and not exists (select from leases.notes as n where n.lane = c.lane and n.group_id is null));
end;
$_is_listed$;

comment on function leases._is_listed(bigint, text) is
'Whether the group''s row of the choice is open, and exact for a lane that is settled.';

revoke all on function leases._is_listed(bigint, text) from public;
