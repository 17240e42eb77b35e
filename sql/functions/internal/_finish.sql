-- F1, F2: put the finish of the range in hand into the draft.
create or replace function leases._finish(_draft leases.progress, _range_id bigint, _headers bigint)
returns leases.progress
language plpgsql
as $_finish$
begin
    if _draft.range_id = _range_id and _headers >= 0 then
        return leases._finished(_draft, _headers);
    elsif _headers is null or _headers < 0 then
        perform leases._refuse('the number of headers makes no sense',
            format('Got %s.', coalesce(_headers::text, 'null')), 'Give 0 or more.');
    elsif not leases._has_finished(_draft, _range_id) then
        perform leases._not_held(_draft, _range_id);
    end if;
    return _draft;
end;
$_finish$;

comment on function leases._finish(leases.progress, bigint, bigint) is
'The draft with the range in hand finished; unchanged where this lease finished it before; else raises LS002.';

revoke all on function leases._finish(leases.progress, bigint, bigint) from public;
