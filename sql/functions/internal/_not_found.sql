-- E: an unknown node, group, lane, range.
create or replace function leases._not_found(_kind text, _id text)
returns void
language sql
as $_not_found$
    select leases._raise('LS005', format('there is no such %s', _kind), format('Got %s %s.', _kind, coalesce(_id, 'null')),
        format('Look the %s up first; it may never have been added, or be gone.', _kind));
$_not_found$;

comment on function leases._not_found(text, text) is
'Raises not_found (LS005).';

revoke all on function leases._not_found(text, text) from public;
