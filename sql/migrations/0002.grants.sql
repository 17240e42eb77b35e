-- depends: 0001.tables

-- Administrators write these tables with plain SQL; planners look groups up; workers have functions only.
grant leases_worker, leases_planner, leases_monitor to leases_admin;
grant select, insert, update, delete on leases.groups, leases.nodes, leases.lanes to leases_admin;
grant select, delete on leases.ranges to leases_admin;
grant insert (group_id, start_id, end_id, next_id, priority, capture, status, done_at, last_error, attempts)
on leases.ranges to leases_admin;
grant update (group_id, start_id, end_id, next_id, priority, capture, status, done_at, last_error, attempts)
on leases.ranges to leases_admin;
grant select on leases.lanes, leases.groups, leases.nodes, leases.ranges to leases_monitor;
grant select on leases.groups to leases_planner;
grant usage on all sequences in schema leases to leases_admin;
