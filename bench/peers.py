"""What the product is compared with, each in a schema of its own: the floor, the baseline, what people use today."""

from __future__ import annotations

from bench.product import fill
from bench.rounds import Contender
from bench.scale import Size
from bench.world import HERE, Database, World

__all__ = [
    "baseline_build",
    "baseline_cycle",
    "baseline_lease",
    "baseline_sized",
    "floor",
    "pgq",
    "procrastinate",
    "skip_locked_claim",
    "skip_locked_delete",
]

FLOOR = """
\\set first :client_id * 1000 + 1
\\set second :first + 500
select floor.two(:first, :second);
"""

BASELINE_LEASE = """
select lease_id as lease from baseline.lease_group(:client_id) \\gset
select baseline.release_group(:lease);
"""

_BASELINE_HAND = """
\\if :lease = 0
select l.lease_id as lease, l.group_id as grp from baseline.lanes as l
where l.group_id = :base::bigint + :client_id::bigint \\gset
select n.range_id as hand from baseline.next_range(:lease) as n \\gset
\\endif
"""
BASELINE_ONE_CALL = f"""{_BASELINE_HAND}
select range_id as hand from baseline.finish_and_next(:lease, :hand, 100) \\gset
"""
# Finish, heartbeat, next and a resume point: seven statements, four commits.
BASELINE_STATEMENTS = f"""{_BASELINE_HAND}
begin;
select lease_id as lease from baseline.lanes where lease_id = :lease for update \\gset
update baseline.ranges set status = 'done', next_id = end_id + 1, done_at = now() where range_id = :hand;
update baseline.lanes set ranges_done = ranges_done + 1, headers = headers + 100 where lease_id = :lease;
commit;
update baseline.lanes set heartbeat_at = now() where lease_id = :lease;
begin;
select range_id as hand from baseline.ranges
where group_id = :grp and status = 'planned' order by start_id limit 1 for update \\gset
update baseline.ranges set status = 'leased', attempts = attempts + 1 where range_id = :hand;
commit;
update baseline.ranges set next_id = start_id where range_id = :hand;
"""

CLAIM = """
update skip_locked.jobs set status = 'running', claimed_at = now()
where id = (select id from skip_locked.jobs where status = 'ready' order by id for update skip locked limit 1)
returning id as job \\gset
update skip_locked.jobs set status = 'done', done_at = now() where id = :job;
"""
DELETE = """
delete from skip_locked.queue
where id = (select id from skip_locked.queue order by id for update skip locked limit 1)
returning id as job \\gset
"""

PROCRASTINATE = """
\\if :worker = 0
select worker_id as worker from procrastinate_register_worker_v1() \\gset
\\endif
select coalesce(id, 0) as job from procrastinate_fetch_job_v2(null, :worker) \\gset
\\if :job > 0
select procrastinate_finish_job_v1(:job, 'succeeded', false);
\\endif
"""

# A batch holds the events between two ticks; here each holds one. One transaction takes and finishes it.
PGQ = """
begin;
select pgq.next_batch('bench', concat('consumer-', :client_id::text)) as batch \\gset
select count(*) as events from pgq.get_batch_events(:batch) \\gset
select pgq.finish_batch(:batch);
commit;
"""

_LOCKS = 1_000  # groups that procrastinate's jobs belong to
_CONSUMERS = 16


def _once(database: Database, schema: str) -> bool:
    """Tell whether the schema is not there yet."""
    return not database.value("select to_regnamespace(%s) is not null", schema)


def floor(world: World, database: Database, clients: int = 1) -> Contender:
    """Return one call that updates two rows by key."""
    if _once(database, "floor"):
        database.script(HERE / "floor.sql")
        database.run("vacuum analyze floor.rows")
    return Contender(
        name="floor",
        database=database,
        script=FLOOR,
        done=lambda: int(database.value("select sum(n) / 2 from floor.rows")),
        seconds=world.scale.seconds,
        clients=clients,
    )


def baseline_schema(database: Database) -> None:
    if _once(database, "baseline"):
        database.script(HERE / "baseline.sql")


def baseline_sized(world: World, size: Size) -> Database:
    """Return a database with the baseline's groups and ranges, as many as the product's, half of them done."""
    return world.database(f"baseline_{size.slug}", lambda database: baseline_build(database, size))


def baseline_build(database: Database, size: Size) -> None:
    """Fill a database with the baseline's groups and ranges, half of them done."""
    baseline_schema(database)
    database.run(
        """insert into baseline.groups (group_id, name)
        select n, 'log.' || n from generate_series(1, %s) as n""",
        size.groups,
    )
    database.run("insert into baseline.lanes (group_id) select group_id from baseline.groups")
    fill(database, "baseline.ranges", size)
    database.settle()


def baseline_lease(
    world: World, database: Database, clients: int = 1, seconds: int | None = None
) -> Contender:
    """Return the baseline's lease + release."""
    return Contender(
        name="baseline",
        database=database,
        script=BASELINE_LEASE,
        done=lambda: int(
            database.value(
                "select case when is_called then last_value else 0 end from baseline.lease_ids"
            )
        ),
        seconds=seconds or world.scale.peer_seconds,
        clients=clients,
        warm_up=2,  # of 10 million ranges, one takes seconds
    )


def baseline_cycle(
    world: World, database: Database, base: int, clients: int, ranges: int, *, one_call: bool
) -> Contender:
    """Return the baseline's cycle, on as many held lanes as there are clients, with ids from ``base``."""
    baseline_schema(database)
    database.run(
        """insert into baseline.groups (group_id, name)
        select n, 'cycle.' || n from generate_series(%s::bigint, %s) as n""",
        *(base, base + clients - 1),
    )
    database.run(
        """insert into baseline.lanes (group_id, lease_id, heartbeat_at)
        select n, nextval('baseline.lease_ids'), now() from generate_series(%s::bigint, %s) as n""",
        *(base, base + clients - 1),
    )
    database.run(
        """insert into baseline.ranges (group_id, start_id, end_id, next_id, priority)
        select g, n, n, n, 50 from generate_series(%s::bigint, %s) as g, generate_series(0::bigint, %s) as n""",
        *(base, base + clients - 1, ranges - 1),
    )
    database.run("vacuum analyze baseline.ranges")
    return Contender(
        name="baseline, one call" if one_call else "baseline, 7 statements",
        database=database,
        script=BASELINE_ONE_CALL if one_call else BASELINE_STATEMENTS,
        done=lambda: int(
            database.value(
                "select sum(ranges_done) from baseline.lanes where group_id between %s and %s",
                *(base, base + clients - 1),
            )
        ),
        seconds=world.scale.peer_seconds,
        clients=clients,
        variables={"lease": 0, "hand": 0, "grp": 0, "base": base},
    )


def _skip_locked_schema(database: Database) -> None:
    if _once(database, "skip_locked"):
        database.script(HERE / "skip_locked.sql")


def skip_locked_claim(world: World, database: Database, jobs: int, clients: int = 1) -> Contender:
    """Return claim and done on a SKIP LOCKED table, with at least so many jobs ready."""
    _skip_locked_schema(database)
    database.run(
        "insert into skip_locked.jobs (payload) select n from generate_series(1, %s) as n", jobs
    )
    database.run("vacuum analyze skip_locked.jobs")
    return Contender(
        name="SKIP LOCKED, claim and done",
        database=database,
        script=CLAIM,
        done=lambda: int(
            database.value("select count(*) from skip_locked.jobs where status = 'done'")
        ),
        seconds=world.scale.peer_seconds,
        clients=clients,
    )


def skip_locked_delete(world: World, database: Database, jobs: int, clients: int = 1) -> Contender:
    """Return the one DELETE on a SKIP LOCKED table, with at least so many jobs ready."""
    _skip_locked_schema(database)
    database.run(
        "insert into skip_locked.queue (payload) select n from generate_series(1, %s) as n", jobs
    )
    database.run("vacuum analyze skip_locked.queue")
    return Contender(
        name="SKIP LOCKED, one DELETE",
        database=database,
        script=DELETE,
        done=lambda: -int(database.value("select count(*) from skip_locked.queue")),
        seconds=world.scale.peer_seconds,
        clients=clients,
    )


def procrastinate(world: World, database: Database, jobs: int, clients: int = 1) -> Contender:
    """Return procrastinate's fetch and finish, by its own functions, each group's jobs under a lock."""
    from procrastinate.schema import SchemaManager

    if not database.value("select to_regclass('procrastinate_jobs') is not null"):
        database.connection.execute(SchemaManager.get_schema().encode())
    database.run(
        """select procrastinate_defer_jobs_v1(array_agg(
            row('history', 'read_range', 0, 'group-' || n %% %s, null, '{}', null)::procrastinate_job_to_defer_v1))
        from generate_series(1, %s) as n""",
        *(_LOCKS, jobs),
    )
    database.run("vacuum analyze procrastinate_jobs")
    return Contender(
        name="procrastinate, a lock a group",
        database=database,
        script=PROCRASTINATE,
        done=lambda: int(
            database.value("select count(*) from procrastinate_jobs where status = 'succeeded'")
        ),
        seconds=world.scale.peer_seconds,
        clients=clients,
        variables={"worker": 0},
        may_miss=True,  # two fetches at once may want the same job, and one comes back empty
    )


def pgq(world: World, database: Database, events: int, clients: int = 1) -> Contender | None:
    """Return PgQ's batches of one event, each client a consumer; None where PgQ can't be had."""
    if not database.value("select count(*) from pg_available_extensions where name = 'pgq'"):
        return None
    if _once(database, "pgq"):
        database.run("create extension pgq")
        database.run("select pgq.create_queue('bench')")
        database.run("select pgq.set_queue_config('bench', 'ticker_max_count', '1')")
        database.run(
            "select pgq.register_consumer('bench', 'consumer-' || n) from generate_series(0, %s) as n",
            _CONSUMERS - 1,
        )
    # An event a tick, each tick in a transaction after the event's; not measured, so not made durable.
    with database.connect() as filler:
        filler.execute("set synchronous_commit = off")
        filler.execute(
            f"""do $$ begin
                for _n in 1..{int(events)} loop
                    perform pgq.insert_event('bench', 'range', _n::text);
                    commit;
                    perform pgq.ticker('bench');
                    commit;
                end loop;
            end $$"""
        )
    return Contender(
        name="PgQ, batches of one",
        database=database,
        script=PGQ,
        done=lambda: int(
            database.value("select sum(last_tick) from pgq.get_consumer_info('bench')")
        ),
        seconds=world.scale.peer_seconds,
        clients=clients,
    )
