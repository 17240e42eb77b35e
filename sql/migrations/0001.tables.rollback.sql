-- The roles stay: other databases of the server may use them.
drop schema leases cascade;
