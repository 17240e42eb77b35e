-- Write a draft as the lane's newest row.
create or replace function leases._log(_draft leases.progress, _what text)
returns leases.progress
language plpgsql
as $_log$
-- Under the lane's lock a conflict can only be a row that this transaction's snapshot can't see (REPEATABLE READ):
-- 'on conflict do nothing' turns it into a serialization failure, so a fenced-off caller changes nothing. Had that row
-- been trimmed already, so had the one before it, which the snapshot takes for the newest: locking that fails likewise.
-- At READ COMMITTED there is neither, and the plain insert costs less.
begin
    _draft.what := _what;
    if current_setting('transaction_isolation') = 'read committed' then
        insert into leases.progress values (_draft.*);
    else
        perform from leases.progress as p
            where p.group_id = _draft.group_id and p.lane = _draft.lane and p.seq = _draft.seq - 1 for key share;
        insert into leases.progress values (_draft.*) on conflict do nothing;
    end if;
    return _draft;
end;
$_log$;

comment on function leases._log(leases.progress, text) is
'Appends the draft to the lane''s log and returns it. Raises serialization_failure (40001) where the caller''s snapshot is too old.';

revoke all on function leases._log(leases.progress, text) from public;
