"""Bring a database's schema ``leases`` up to what this version of pyleases needs.

The numbered files of ``sql/migrations`` are yoyo's, and so are its tables, which live in the schema
``leases_migrations``. What yoyo leaves open is done here: pending migrations, then the function files that
changed, then the removal of what no file defines any more, all in one transaction on one connection,
behind an advisory lock. It happens whole or not at all, and any number of runs may start at once.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from yoyo import internalmigrations, read_migrations
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import parse_uri

__all__ = ["MigrationError", "MigrationReport", "migrate", "rollback", "sql_folder"]

SCHEMA = "leases_migrations"
FUNCTION_FOLDERS = ("internal", "worker", "planner", "admin", "views")

_OLDEST_SERVER = 150000
_ADVISORY_LOCK = int.from_bytes(b"pyleases", "big") >> 1
_LOCK_TIMEOUT = "1s"

# What a file may still lack when it is run: an object of a file that comes after it.
_NOT_THERE_YET = (
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedObject,
)

# Every function, view and trigger of the schema with the version of its catalog row.
_OBJECTS: LiteralString = """
select 'function', p.oid::pg_catalog.regprocedure::text, p.xmin::text
from pg_catalog.pg_proc p
where p.pronamespace = pg_catalog.to_regnamespace('leases')
union all
select 'view', c.oid::pg_catalog.regclass::text, r.xmin::text
from pg_catalog.pg_class c join pg_catalog.pg_rewrite r on r.ev_class = c.oid
where c.relnamespace = pg_catalog.to_regnamespace('leases') and c.relkind = 'v'
union all
select 'trigger', pg_catalog.format('%I on %s', t.tgname, c.oid::pg_catalog.regclass), t.xmin::text
from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
where c.relnamespace = pg_catalog.to_regnamespace('leases') and not t.tgisinternal
"""

_Connection = psycopg.Connection[Any]


class MigrationError(RuntimeError):
    """The database could not be migrated; nothing in it was changed."""


@dataclass(frozen=True)
class MigrationReport:
    """What a run did. All of it is empty when there was nothing to do."""

    migrations: tuple[str, ...] = ()
    """Migrations applied (or, by `rollback`, rolled back), in that order."""
    files: tuple[str, ...] = ()
    """Function files applied, relative to the ``sql`` folder."""
    dropped: tuple[str, ...] = ()
    """Functions, views and triggers dropped, for no file defines them any more."""
    altered: tuple[str, ...] = ()
    """Migration files that are not what they were when they were applied: not run again."""

    @property
    def changed(self) -> bool:
        """Whether the run changed anything."""
        return bool(self.migrations or self.files or self.dropped)


def sql_folder() -> Path:
    """Return the folder of the SQL files: the installed package's, else the checkout's."""
    here = Path(__file__).resolve().parent
    for folder in (here / "sql", here.parent / "sql"):
        if (folder / "migrations").is_dir():
            return folder
    raise MigrationError(f"no SQL files beside {here}")


def migrate(
    target: str | _Connection = "", *, sql_dir: Path | None = None, timeout: float = 120
) -> MigrationReport:
    """Migrate the database and say what was done. Nothing to do takes no lock.

    ``target`` is a libpq connection string or an idle psycopg connection. Locks that workers may need are
    waited for a second at a time, for ``timeout`` seconds in all. Raises `MigrationError` or psycopg's own
    errors; then nothing was changed.
    """
    tree = _Tree(sql_dir or sql_folder())
    with _connection(target) as connection:
        with _transaction(connection):
            recorded = _Records.read(connection)
        if recorded.checksums() == tree.checksums:
            return MigrationReport()
        return _patiently(connection, timeout, lambda: _migrate(connection, tree))


def rollback(
    target: str | _Connection = "",
    *,
    count: int | None = None,
    sql_dir: Path | None = None,
    timeout: float = 120,
) -> MigrationReport:
    """Undo the last ``count`` migrations, or all of them: what they held is lost.

    All functions, views and triggers go first; after undoing a part of the migrations, run the `migrate`
    of the version to return to. Raises `MigrationError` or psycopg's own errors; then nothing was changed.
    """
    tree = _Tree(sql_dir or sql_folder())
    with _connection(target) as connection:
        return _patiently(connection, timeout, lambda: _rollback(connection, tree, count))


def _migrate(connection: _Connection, tree: _Tree) -> MigrationReport:
    recorded = _Records.read(connection)
    backend = _prepare(connection)
    migrations = read_migrations(str(tree.migrations))
    known = {m.hash for m in migrations}
    if set(backend.get_applied_migration_hashes()) - known:
        raise MigrationError("the database was migrated by a newer version of pyleases")
    pending = backend.to_apply(migrations)
    with _search_path(connection, SCHEMA):
        backend.apply_migrations_only(pending)
    applied = tuple(str(m.id) for m in pending)

    # After a migration any function may be gone with what it depended on: all files then.
    files = [
        f for f in tree.functions if applied or recorded.checksum(f.path) != tree.checksums[f.path]
    ]
    defines = _apply_files(connection, files)
    kept = {f.path: defines.get(f.path) or recorded.defines(f.path) for f in tree.functions}
    dropped = _drop(connection, recorded.all_defined() - {o for d in kept.values() for o in d})
    altered = tuple(
        f"migrations/{m.id}.sql"
        for m in migrations
        if m.id not in applied
        and recorded.checksum(f"migrations/{m.id}.sql") != tree.checksums[f"migrations/{m.id}.sql"]
    )
    _Records.write(
        connection, {path: (c, kept.get(path, ())) for path, c in tree.checksums.items()}
    )
    return MigrationReport(applied, tuple(f.path for f in files), dropped, altered)


def _rollback(connection: _Connection, tree: _Tree, count: int | None) -> MigrationReport:
    recorded = _Records.read(connection)
    backend = _prepare(connection)
    applied = backend.to_rollback(read_migrations(str(tree.migrations)))
    undone = applied[:count] if count is not None else applied
    dropped = _drop(connection, recorded.all_defined()) if undone else ()
    with _search_path(connection, SCHEMA):
        backend.rollback_migrations(undone)
    if undone:
        _Records.write(connection, {})
    return MigrationReport(tuple(str(m.id) for m in undone), (), dropped)


def _prepare(connection: _Connection) -> _Backend:
    connection.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(SCHEMA)))
    with _search_path(connection, SCHEMA):
        backend = _Backend(connection)
        backend.ensure_internal_schema_updated()
        connection.execute(
            """
            create table if not exists files (
                path text constraint files_pkey primary key,
                checksum text not null,
                defines text[] not null,
                applied_at timestamptz not null default clock_timestamp()
            )
            """
        )
    return backend


def _apply_files(connection: _Connection, files: list[_File]) -> dict[str, frozenset[str]]:
    """Run the files, putting off those that need what a later one defines; tell what each defines."""
    defines: dict[str, frozenset[str]] = {}
    connection.execute("set local check_function_bodies = off")
    before = _objects(connection)
    waiting = files
    while waiting:
        put_off: list[_File] = []
        for file in waiting:
            try:
                with connection.transaction():
                    connection.execute(file.text.encode())
            except _NOT_THERE_YET as error:
                if len(put_off) + 1 == len(waiting):  # the whole round brought nothing
                    error.add_note(f"in {file.path}")
                    raise
                put_off.append(file)
                continue
            except psycopg.Error as error:
                error.add_note(f"in {file.path}")
                raise
            after = _objects(connection)
            defines[file.path] = frozenset(o for o, row in after.items() if before.get(o) != row)
            before = after
        waiting = put_off
    return defines


def _drop(connection: _Connection, unwanted: frozenset[str] | set[str]) -> tuple[str, ...]:
    """Drop what is still there of these, each kind in one statement, users before the used."""
    there = sorted(unwanted & _objects(connection).keys())
    of_kind = {
        kind: [o for o in there if o.startswith(kind)] for kind in ("trigger", "view", "function")
    }
    for each in of_kind["trigger"]:
        connection.execute(f"drop {each}".encode())
    for kind in ("view", "function"):
        names = ", ".join(o.removeprefix(kind) for o in of_kind[kind])
        if names:
            connection.execute(f"drop {kind} {names}".encode())
    return tuple(there)


def _objects(connection: _Connection) -> dict[str, str]:
    return {f"{kind} {name}": row for kind, name, row in connection.execute(_OBJECTS)}


@dataclass(frozen=True)
class _File:
    path: str
    text: str


@dataclass(frozen=True)
class _Tree:
    """The SQL files of this version."""

    root: Path

    @property
    def migrations(self) -> Path:
        return self.root / "migrations"

    @cached_property
    def functions(self) -> list[_File]:
        """The function files, in the order of their folders and names."""
        folders = [self.root / "functions" / name for name in FUNCTION_FOLDERS]
        unknown = [p for p in (self.root / "functions").rglob("*.sql") if p.parent not in folders]
        if unknown:
            raise MigrationError(f"{unknown[0]} is in none of the folders {FUNCTION_FOLDERS}")
        return [self._file(path) for folder in folders for path in sorted(folder.glob("*.sql"))]

    @cached_property
    def checksums(self) -> dict[str, str]:
        """The checksum of each migration and function file, by its path."""
        migrations = (
            self._file(path)
            for path in sorted(self.migrations.glob("*.sql"))
            if not path.name.endswith(".rollback.sql")
        )
        return {
            f.path: hashlib.sha256(f.text.encode()).hexdigest()
            for f in [*migrations, *self.functions]
        }

    def _file(self, path: Path) -> _File:
        return _File(path.relative_to(self.root).as_posix(), path.read_text("utf-8"))


@dataclass(frozen=True)
class _Records:
    """What the database knows of the files that made it."""

    rows: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: _Connection) -> _Records:
        table = sql.Identifier(SCHEMA, "files")
        there = connection.execute("select to_regclass(%s)", [f"{SCHEMA}.files"]).fetchone()
        if there is None or there[0] is None:
            return cls()
        rows = connection.execute(sql.SQL("select path, checksum, defines from {}").format(table))
        return cls({path: (checksum, frozenset(defines)) for path, checksum, defines in rows})

    @staticmethod
    def write(
        connection: _Connection, rows: dict[str, tuple[str, frozenset[str] | tuple[()]]]
    ) -> None:
        table = sql.Identifier(SCHEMA, "files")
        connection.execute(
            sql.SQL("delete from {} where not path = any(%s)").format(table), [list(rows)]
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                sql.SQL(
                    "insert into {} as f (path, checksum, defines) values (%s, %s, %s) "
                    "on conflict on constraint files_pkey do update "
                    "set checksum = excluded.checksum, defines = excluded.defines, "
                    "applied_at = excluded.applied_at "
                    "where (f.checksum, f.defines) is distinct from (excluded.checksum, excluded.defines)"
                ).format(table),
                [(path, checksum, sorted(defines)) for path, (checksum, defines) in rows.items()],
            )

    def checksums(self) -> dict[str, str]:
        return {path: checksum for path, (checksum, _) in self.rows.items()}

    def checksum(self, path: str) -> str | None:
        return self.rows[path][0] if path in self.rows else None

    def defines(self, path: str) -> frozenset[str]:
        return self.rows[path][1] if path in self.rows else frozenset()

    def all_defined(self) -> frozenset[str]:
        return frozenset(o for _, defines in self.rows.values() for o in defines)


class _Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]
    """yoyo's backend, kept to the one connection and inside the transaction that is open on it."""

    def __init__(self, connection: _Connection) -> None:
        self._given = connection
        self._checked = False
        super().__init__(parse_uri("postgresql+psycopg://"), "_yoyo_migration")

    def connect(self, _dburi: object) -> _Connection:
        return self._given

    def copy(self) -> _Backend:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the connection open: it is not ours to close."""

    def transaction(self, rollback_on_exit: bool = False) -> Any:
        return self._given.transaction(force_rollback=rollback_on_exit)

    @contextmanager
    def lock(self, timeout: float = 0) -> Iterator[None]:  # noqa: ARG002
        yield  # the advisory lock is held already

    def ensure_internal_schema_updated(self) -> None:
        if not self._checked and internalmigrations.needs_upgrading(self):
            internalmigrations.upgrade(self)
        self._checked = True

    def get_applied_migration_hashes(self) -> list[str]:
        with _search_path(self._given, SCHEMA):
            return list(super().get_applied_migration_hashes())

    def get_log_data(self, migration: Any = None, operation: str = "apply") -> dict[str, Any]:
        # yoyo asks the machine's user and name service, which a container may not have.
        row = self._given.execute(
            "select pg_catalog.gen_random_uuid()::text, session_user::text,"
            " coalesce(pg_catalog.inet_client_addr()::text, 'local'),"
            " pg_catalog.timezone('utc', pg_catalog.clock_timestamp())"
        ).fetchone()
        row_id, username, hostname, created_at = row or (None,) * 4
        return {
            "id": row_id,
            "migration_id": migration.id if migration else None,
            "migration_hash": migration.hash if migration else None,
            "username": username,
            "hostname": hostname,
            "created_at_utc": created_at,
            "operation": operation,
        }


@contextmanager
def _connection(target: str | _Connection) -> Iterator[_Connection]:
    """Give a connection with tuples for rows and no prepared statements, and put a caller's back as it was."""
    if isinstance(target, str):
        with psycopg.connect(target, autocommit=True, prepare_threshold=None) as connection:
            _check_server(connection)
            yield connection
        return
    if target.info.transaction_status != TransactionStatus.IDLE:
        raise MigrationError("the connection is in a transaction: migrate needs its own")
    _check_server(target)
    before = target.row_factory, target.prepare_threshold
    target.row_factory, target.prepare_threshold = tuple_row, None
    try:
        yield target
    finally:
        target.row_factory, target.prepare_threshold = before


def _check_server(connection: _Connection) -> None:
    if connection.info.server_version < _OLDEST_SERVER:
        raise MigrationError("pyleases needs PostgreSQL 15 or later")


@contextmanager
def _transaction(connection: _Connection) -> Iterator[None]:
    with connection.transaction():
        connection.execute("set transaction isolation level read committed, read write")
        connection.execute("set local search_path = pg_catalog")
        connection.execute(sql.SQL("set local lock_timeout = {}").format(_LOCK_TIMEOUT))
        connection.execute("set local client_min_messages = warning")
        yield


@contextmanager
def _search_path(connection: _Connection, schema: str) -> Iterator[None]:
    connection.execute(sql.SQL("set local search_path = {}").format(sql.Identifier(schema)))
    yield
    connection.execute("set local search_path = pg_catalog")


def _patiently(
    connection: _Connection, timeout: float, work: Callable[[], MigrationReport]
) -> MigrationReport:
    """Do the work in a transaction, alone; again when a lock was not to be had at once."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            with _transaction(connection):
                row = connection.execute(
                    "select pg_try_advisory_xact_lock(%s)", [_ADVISORY_LOCK]
                ).fetchone()
                if row and row[0]:
                    return work()
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            if time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline:
            raise MigrationError(f"another migration has been at work for {timeout:g} seconds")
        time.sleep(random.uniform(0.05, 0.5))  # noqa: S311
