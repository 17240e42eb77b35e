-- Each range as the contract's words have it, wherever it is kept.
create or replace view leases.range_status as
select
    r.range_id,
    r.group_id,
    nullif(coalesce(l.lane, r.lane), '') as lane,
    r.start_id,
    r.end_id,
    case when l.status = 'done' then r.end_id + 1 else coalesce(l.next_id, r.next_id) end as next_id,
    r.priority,
    r.capture,
    coalesce(l.status, r.status) as status,
    coalesce(l.attempts, r.attempts) as attempts,
    r.last_error,
    coalesce(l.rules_version, r.rules_version) as rules_version,
    case when l.status = 'leased' then null else coalesce(l.done_at, r.done_at) end as done_at
from leases.ranges as r
left join leases._live as l on r.group_id = l.group_id and r.range_id = l.range_id;

comment on view leases.range_status is
'A row for each range: what the contract''s words say of it now, be it in a holder''s window or in leases.ranges.';
comment on column leases.range_status.lane is
'The lane that handed a begun or done range out, else its priority''s; null where no lane has that priority.';
comment on column leases.range_status.next_id is 'The next article to read; end_id + 1 when all are read.';
comment on column leases.range_status.attempts is 'How often it was handed out since it was planned, finished or retried.';

grant select on leases.range_status to leases_monitor, leases_admin;
