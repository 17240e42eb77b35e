"""The fixtures every test has: a server, and a fresh migrated database a test."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row
from pytest_postgresql import factories

from pyleases.devserver import server
from pyleases.migrate import migrate

# A shell's background job ignores Ctrl-C, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Connect = Callable[..., psycopg.Connection[Any]]


@dataclass(frozen=True)
class TestServer:
    """What pytest-postgresql asks of a server."""

    host: str
    port: int
    user: str
    password: str | None = None
    options: str = ""
    maintenance_dbname: str = "postgres"
    template_dbname: str | None = None


@pytest.fixture(scope="session")
def test_server() -> Iterator[TestServer]:
    """The server of PYLEASES_TEST_DSN (a superuser's), else one of our own for the session."""
    given = os.environ.get("PYLEASES_TEST_DSN")
    if given:
        parts = conninfo_to_dict(given)
        with psycopg.connect(given) as connection:
            info = connection.info
            yield TestServer(
                host=info.host,
                port=info.port,
                user=info.user,
                password=str(parts["password"]) if "password" in parts else None,
                maintenance_dbname=info.dbname,
            )
        return
    with server() as own:
        yield TestServer(host=own.host, port=own.port, user=own.user)


def load_schema(**where: Any) -> None:
    """Fill the template database; called by pytest-postgresql."""
    where.pop("autocommit", None)
    migrate(make_conninfo(**{k: v for k, v in where.items() if v not in (None, "")}))


migrated = factories.postgresql_noproc(depends_on="test_server", load=[load_schema])
postgresql = factories.postgresql("migrated")


@pytest.fixture
def dsn(postgresql: psycopg.Connection[Any]) -> str:
    """A libpq connection string of a fresh migrated database, as superuser."""
    info = postgresql.info
    where = {"host": info.host, "port": info.port, "user": info.user, "dbname": info.dbname}
    return make_conninfo(**where, **({"password": info.password} if info.password else {}))


@pytest.fixture
def connect(dsn: str) -> Iterator[Connect]:
    """Connect to the test's database: autocommit and rows as dicts unless told otherwise."""
    opened: list[psycopg.Connection[Any]] = []

    def connect(**options: Any) -> psycopg.Connection[Any]:
        settings = {"autocommit": True, "row_factory": dict_row, **options}
        connection = psycopg.connect(dsn, **settings)
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def db(connect: Connect) -> psycopg.Connection[Any]:
    """The superuser's connection to the test's database."""
    return connect()


@pytest.fixture
def blank(db: psycopg.Connection[Any], dsn: str) -> Iterator[str]:
    """A libpq connection string of a database with nothing in it."""
    name = f"{db.info.dbname}_blank"
    db.execute(f'drop database if exists "{name}" with (force)')
    db.execute(f'create database "{name}" template template0')
    yield make_conninfo(dsn, dbname=name)
    db.execute(f'drop database "{name}" with (force)')
