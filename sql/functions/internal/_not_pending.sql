-- P4: the snapshot is not this lease's to commit, abort or reject.
create or replace function leases._not_pending(_lease_id bigint, _snapshot_id bigint)
returns void
language sql
as $_not_pending$
    select leases._raise('LS003', 'the snapshot is not pending under this lease',
        format('Got snapshot %s under lease %s.', coalesce(_snapshot_id::text, 'null'), _lease_id),
        'Begin a snapshot and commit that one; delete the file of this one.');
$_not_pending$;

comment on function leases._not_pending(bigint, bigint) is
'Raises snapshot_not_pending (LS003).';

revoke all on function leases._not_pending(bigint, bigint) from public;
