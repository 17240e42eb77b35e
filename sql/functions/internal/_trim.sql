-- Drop log rows that neither the holder's window nor a snapshot that the lane may return to needs.
create or replace function leases._trim(_draft leases.progress)
returns leases.progress
language plpgsql
as $_trim$
-- From where it was trimmed last: below that, dead rows may stand for as long as somebody's old snapshot does. A few
-- rows at a time are not worth the look.
declare
    _upto bigint;
begin
    if _draft.seq - _draft.trimmed_to < 32 then
        return _draft;
    end if;
    select least(min(s.begun_seq), _draft.live_after, _draft.seq - 2) into _upto
        from leases.snapshots as s
        where s.group_id = _draft.group_id and s.lane = _draft.lane and s.status in ('kept', 'pending');
    if _upto > _draft.trimmed_to then
        delete from leases.progress as p
            where p.group_id = _draft.group_id and p.lane = _draft.lane
                and p.seq > _draft.trimmed_to and p.seq <= _upto;
        _draft.trimmed_to := _upto;
    end if;
    return _draft;
end;
$_trim$;

comment on function leases._trim(leases.progress) is
'Deletes the lane''s log rows that nothing can need any more; returns the draft, which says up to where.';

revoke all on function leases._trim(leases.progress) from public;
