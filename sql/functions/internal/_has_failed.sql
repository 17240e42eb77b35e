-- F4: whether this lease put that range down and was not handed it since.
create or replace function leases._has_failed(_draft leases.progress, _range_id bigint)
returns boolean
language plpgsql
stable
as $_has_failed$
begin
    return exists (
        select 1 from leases.put_down as d
        where d.group_id = _draft.group_id and d.lane = _draft.lane and d.range_id = _range_id
    ) or exists ( -- with nothing left of it
        select from leases.progress as p
        where p.group_id = _draft.group_id and p.lane = _draft.lane and p.seq > _draft.live_after
            and p.finished_id = _range_id and p.what = 'fail'
    );
end;
$_has_failed$;

comment on function leases._has_failed(leases.progress, bigint) is
'Whether failing that range again changes nothing.';

revoke all on function leases._has_failed(leases.progress, bigint) from public;
