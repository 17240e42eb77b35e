"""Roles that really log in, for attacks as they would come."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Login = Callable[..., psycopg.Connection[dict[str, Any]]]


@pytest.fixture
def account(db) -> Iterator[Callable[..., dict[str, str]]]:
    """Make a login role, a member of those of ours that are named; it may have a schema of its own."""
    made: list[str] = []

    def account(*of: str, schema: bool = False) -> dict[str, str]:
        name, password = f"evil_{secrets.token_hex(4)}", secrets.token_hex(8)
        db.execute(f"create role {name} login password '{password}'")
        made.append(name)
        for role in of:
            db.execute(f"grant leases_{role} to {name}")
        if schema:
            db.execute(f"create schema {name} authorization {name}")
        return {"user": name, "password": password}

    yield account
    for name in made:
        db.execute(
            f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{name}'"
        )
        db.execute(f"drop owned by {name} cascade")
        db.execute(f"drop role {name}")


@pytest.fixture
def log_in(dsn, account) -> Iterator[Login]:
    """Log in as a new account of that kind: autocommit, rows as dicts."""
    opened: list[psycopg.Connection[Any]] = []

    def log_in(*of: str, **options: bool) -> psycopg.Connection[dict[str, Any]]:
        connection = psycopg.connect(
            make_conninfo(dsn, **account(*of, **options)), autocommit=True, row_factory=dict_row
        )
        opened.append(connection)
        return connection

    yield log_in
    for connection in opened:
        connection.close()
