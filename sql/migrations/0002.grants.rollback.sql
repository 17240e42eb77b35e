-- 0001's rollback drops the schema and its grants with it.
revoke leases_worker, leases_planner, leases_monitor from leases_admin;
