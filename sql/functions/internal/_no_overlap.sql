-- L1: none of these ranges overlaps another of its group. Its neighbours suffice: the others keep clear of those.
create or replace function leases._no_overlap(_range_ids bigint[])
returns void
language plpgsql
as $_no_overlap$
declare
    _range leases.ranges;
    _other leases.ranges;
begin
    select n.* into _range from leases.ranges as n
    where n.range_id = any(_range_ids) and (
        exists (
            select from leases.ranges as r
            where r.group_id = n.group_id and r.start_id between n.start_id and n.end_id and r.range_id <> n.range_id
        ) or n.start_id <= (
            select r.end_id from leases.ranges as r
            where r.group_id = n.group_id and r.start_id < n.start_id order by r.start_id desc limit 1
        ))
    limit 1;
    if found then
        select r.* into _other from leases.ranges as r
        where r.group_id = _range.group_id and r.range_id <> _range.range_id
            and r.start_id <= _range.end_id and r.end_id >= _range.start_id
        order by r.start_id desc limit 1;
        perform leases._raise('LS004', 'the range overlaps another of its group',
            format('%s..%s of group %s overlaps %s..%s.', _range.start_id, _range.end_id, _range.group_id,
                _other.start_id, _other.end_id),
            'Use plan_ranges, which plans only what no range covers yet.');
    end if;
end;
$_no_overlap$;

comment on function leases._no_overlap(bigint[]) is
'Raises overlapping_range (LS004) where one of those ranges overlaps another of its group.';

revoke all on function leases._no_overlap(bigint[]) from public;
