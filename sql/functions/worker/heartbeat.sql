-- The holder lives, and may say how far it has read.
create or replace function leases.heartbeat(lease_id bigint, next_id bigint default null)
returns void
language plpgsql
security definer
set search_path = pg_catalog, leases, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $heartbeat$
-- F3, H2 to H4.
declare
    _draft leases.progress := leases._held(heartbeat.lease_id);
begin
    if heartbeat.next_id is not null then
        if _draft.range_id is null then
            perform leases._not_held(_draft, null);
        elsif heartbeat.next_id < _draft.next_id or heartbeat.next_id > _draft.end_id + 1 then
            perform leases._refuse('the resume point makes no sense',
                format('Got %s; the range in hand stands at %s and ends at %s.', heartbeat.next_id, _draft.next_id,
                    _draft.end_id),
                'Give the next article to read: never back, and at most end_id + 1.');
        end if;
        if heartbeat.next_id <> _draft.next_id then
            _draft.next_id := heartbeat.next_id;
            _draft.moved_at := _draft.heard_at;
        end if;
    end if;
    _draft := leases._log(_draft, 'heartbeat');
end;
$heartbeat$;

comment on function leases.heartbeat(bigint, bigint) is
'Tells that the holder lives; with next_id, also moves the resume point of the range in hand there. Raises lease_lost (LS001), range_not_held (LS002) with none in hand, invalid_parameter_value (22023) for a point that lies back or outside.';

revoke all on function leases.heartbeat(bigint, bigint) from public;
grant execute on function leases.heartbeat(bigint, bigint) to leases_worker;
