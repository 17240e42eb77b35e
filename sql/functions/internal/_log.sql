-- Write a draft as the lane's newest row.
create or replace function leases._log(_draft leases.progress, _what text)
returns void
language plpgsql
as $_log$
-- Under the lane's lock a conflict can only be a row that this transaction's snapshot can't see (REPEATABLE READ):
-- 'on conflict do nothing' turns it into a serialization failure, so a fenced-off caller changes nothing. At READ
-- COMMITTED there is none, and the plain insert costs less.
begin
    _draft.what := _what;
    if current_setting('transaction_isolation') = 'read committed' then
        insert into leases.progress values (_draft.*);
    else
        insert into leases.progress values (_draft.*) on conflict do nothing;
    end if;
end;
$_log$;

comment on function leases._log(leases.progress, text) is
'Appends the draft to the lane''s log. Raises serialization_failure (40001) where the caller''s snapshot is too old.';

revoke all on function leases._log(leases.progress, text) from public;
