"""What figures are measured in: a server of our own, and databases that are built once."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from bench.scale import Scale
from pyleases.devserver import DevServer, server
from pyleases.migrate import migrate

__all__ = ["HERE", "ROOT", "Database", "World", "opened"]

HERE = Path(__file__).parent
ROOT = HERE.parent

# Production's defaults but for these. The longest fsync is the disk's, and is what everybody pays here.
SETTINGS = {
    "shared_buffers": "2GB",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "30min",
    "jit": "off",
    "dynamic_shared_memory_type": "posix",
    "track_wal_io_timing": "off",
}


@dataclass
class Database:
    """A database of the server, and a connection to it in autocommit."""

    name: str
    dsn: str
    _connection: psycopg.Connection[Any] | None = field(default=None, repr=False)

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """Make another connection, in autocommit unless told otherwise."""
        return psycopg.connect(self.dsn, **{"autocommit": True, **options})

    @property
    def connection(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection = self.connect()
        return self._connection

    def run(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(query.encode(), params or None)
        return cursor.fetchall() if cursor.description else []

    def value(self, query: str, *params: object) -> Any:
        return self.run(query, *params)[0][0]

    def script(self, path: Path) -> None:
        self.connection.execute(path.read_bytes())

    def settle(self) -> None:
        """Do what autovacuum and the checkpointer would do in the middle of a measurement."""
        self.run("vacuum (analyze)")
        self.run("checkpoint")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class World:
    """The server, the scale of the run, and what was built so far."""

    def __init__(self, running: DevServer, scale: Scale) -> None:
        self.server = running
        self.scale = scale
        self._databases: dict[str, Database] = {}
        self._check()
        self.fresh("template_product", product=False)
        migrate(self._databases["template_product"].dsn)
        self._databases["template_product"].close()

    def _check(self) -> None:
        """Refuse to measure where a commit is not one."""
        with psycopg.connect(self.server.dsn()) as connection:
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                row = connection.execute(sql.SQL("show {}").format(sql.Identifier(name))).fetchone()
                if row != ("on",):
                    raise RuntimeError(f"{name} is {row}, not on")

    def database(
        self,
        name: str,
        build: Callable[[Database], None] = lambda _: None,
        template: Database | None = None,
    ) -> Database:
        """Return the database of that name, built if it is not there yet; it stays for the whole run."""
        if name not in self._databases:
            print(f"    building {name}", flush=True)
            fresh = self.fresh(name, template=template)
            try:
                build(fresh)
            except BaseException:
                self.drop(fresh)
                raise
        return self._databases[name]

    def fresh(
        self, name: str, *, product: bool = True, template: Database | None = None
    ) -> Database:
        """Make a database: of the template, else with the product's schema in it and no holder going quiet."""
        if template is not None:
            template.close()
            self._administer("create database {} template {}", name, template.name)
            self._databases[name] = Database(name, self.server.dsn(name))
            return self._databases[name]
        origin = "template_product" if product else "template0"
        self._administer("create database {} template {}", name, origin)
        made = Database(name, self.server.dsn(name))
        self._databases[name] = made
        if product:
            made.run("update leases.lanes set ttl = '1 day'")
        return made

    def drop(self, database: Database) -> None:
        database.close()
        self._databases.pop(database.name, None)
        self._administer("drop database {} with (force)", database.name)

    @contextlib.contextmanager
    def without_autovacuum(self) -> Iterator[None]:
        """Keep it out of what is counted meanwhile."""
        try:
            self._configure("alter system set autovacuum = off")
            yield
        finally:
            self._configure("alter system reset autovacuum")

    def _configure(self, statement: str) -> None:
        with psycopg.connect(self.server.dsn(), autocommit=True) as connection:
            connection.execute(statement.encode())
            connection.execute("select pg_reload_conf()")

    def _administer(self, query: str, *names: str) -> None:
        with psycopg.connect(self.server.dsn(), autocommit=True) as connection:
            connection.execute(sql.SQL(query).format(*map(sql.Identifier, names)))

    def close(self) -> None:
        for database in self._databases.values():
            database.close()

    def environment(self) -> dict[str, Any]:
        """Say what all this was measured on."""
        with psycopg.connect(self.server.dsn()) as connection:
            version = connection.execute("select version()").fetchone()
            settings: dict[str, str] = dict(
                connection.execute(
                    "select name, current_setting(name) from pg_settings where name = any(%s)",
                    (["fsync", "synchronous_commit", "autovacuum", *SETTINGS],),
                ).fetchall()
            )
        return {
            "postgresql": str(version[0]).split(" on ")[0] if version else None,
            "settings": settings,
            "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
            "cpu": _cpu(),
            "filesystem": _filesystem(self.server.base),
            "python": platform.python_version(),
        }


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _filesystem(folder: Path) -> str:
    done = subprocess.run(
        ["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def disk_folder() -> Path:
    """Return a folder that is on a disk, short enough for a socket's path."""
    for place in (Path("/var/tmp"), Path("/tmp"), Path.cwd()):
        if place.is_dir() and os.access(place, os.W_OK) and _filesystem(place) != "tmpfs":
            return place
    raise RuntimeError("no folder on a disk to put the server in")


@contextlib.contextmanager
def opened(scale: Scale, settings: Sequence[tuple[str, str]] = ()) -> Iterator[World]:
    """Start the server, on disk and with fsync; stop it and remove it at the end."""
    with server(
        folder=disk_folder(), in_memory=False, fsync=True, settings=SETTINGS | dict(settings)
    ) as running:
        world = World(running, scale)
        try:
            yield world
        finally:
            world.close()
