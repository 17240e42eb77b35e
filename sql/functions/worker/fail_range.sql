-- Put the range in hand down, with the reason.
create or replace function leases.fail_range(lease_id bigint, range_id bigint, reason text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $fail_range$
-- F4. The holder''s window stands at the resume point; what stands if the window is lost is in leases.ranges already.
declare
    _draft leases.progress := leases._held(fail_range.lease_id);
begin
    if _draft.range_id = fail_range.range_id then
        perform leases._put_range_down(_draft, coalesce(left(fail_range.reason, 10000), 'no reason given'));
        if _draft.next_id > _draft.end_id then
            _draft := leases._finish(_draft, fail_range.range_id, 0);
        end if;
        _draft.range_id := null;
        _draft.cursor_id := least(_draft.cursor_id, _draft.start_id - 1);
        _draft.moved_at := _draft.heard_at;
    elsif not leases._has_failed(_draft, fail_range.range_id) then
        perform leases._not_held(_draft, fail_range.range_id);
    end if;
    _draft := leases._log(_draft, 'fail');
end;
$fail_range$;

comment on function leases.fail_range(bigint, bigint, text) is
'Keeps the reason on the range and plans it again at its resume point; parks it at the lane''s max_attempts. Again, it changes nothing. Raises lease_lost (LS001), range_not_held (LS002).';

revoke all on function leases.fail_range(bigint, bigint, text) from public;
grant execute on function leases.fail_range(bigint, bigint, text) to leases_worker;
