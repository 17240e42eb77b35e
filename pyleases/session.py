"""How a call reaches the database: over an own connection, the caller's, or the caller's pool."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool

__all__ = ["Given", "Own", "Pooled", "Session"]

_Rows = list[tuple[Any, ...]]

# A peer that is gone without a word is noticed within half a minute; what the caller says counts for more.
_PATIENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}


class Session(Protocol):
    """Runs one statement and gives its rows."""

    def run(self, query: str, params: Sequence[Any] = ()) -> _Rows:
        """Run the statement. Raises psycopg's errors."""
        ...

    def close(self) -> None:
        """Let go of what is not the caller's."""
        ...


class Given:
    """The caller's connection: its transactions, its settings and its closing are the caller's."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def run(self, query: str, params: Sequence[Any] = ()) -> _Rows:
        """Run the statement, in the caller's transaction if there is one."""
        return _run(self._connection, query, params)

    def close(self) -> None:
        """Do nothing."""


class Pooled:
    """The caller's pool: a connection of it for each call, which commits."""

    def __init__(self, pool: ConnectionPool[Any]) -> None:
        self._pool = pool

    def run(self, query: str, params: Sequence[Any] = ()) -> _Rows:
        """Run the statement on a connection of the pool; when one broke, the others may have as well."""
        connection = None
        try:
            with self._pool.connection() as connection:
                return _run_or_close(connection, query, params)
        except psycopg.OperationalError:
            if connection is not None and connection.closed:
                self._pool.check()
            raise

    def close(self) -> None:
        """Do nothing."""


class Own:
    """A connection of our own, in autocommit, made again by the next call after it broke."""

    def __init__(self, conninfo: str, settings: dict[str, Any]) -> None:
        self._conninfo = conninfo
        told = conninfo_to_dict(conninfo)
        patience = {name: value for name, value in _PATIENCE.items() if name not in told}
        defaults = {"fallback_application_name": "pyleases", **patience}
        self._settings = {**defaults, **settings, "autocommit": True}
        self._lock = threading.Lock()
        self._closed = False
        self._connection = self._connect()

    def run(self, query: str, params: Sequence[Any] = ()) -> _Rows:
        """Run the statement; threads take turns."""
        connection = self._connection
        if connection.closed:
            connection = self._connect_again()
        return _run_or_close(connection, query, params)

    def close(self) -> None:
        """Close the connection for good."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _connect_again(self) -> psycopg.Connection[Any]:
        with self._lock:
            if self._closed:
                raise psycopg.InterfaceError("this Leases object is closed")
            if self._connection.closed:
                self._connection = self._connect()
            return self._connection

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self._conninfo, **self._settings)
        try:
            if "prepare_threshold" not in self._settings and _is_pooled(connection):
                connection.prepare_threshold = None
        except BaseException:
            connection.close()
            raise
        return connection


def _is_pooled(connection: psycopg.Connection[Any]) -> bool:
    """Tell whether a pooler stands between: the process it names is then not the one that answers.

    In transaction mode each statement may reach another process, which knows no prepared statement of ours.
    """
    return _run(connection, "select pg_catalog.pg_backend_pid()") != [
        (connection.info.backend_pid,)
    ]


def _run_or_close(connection: psycopg.Connection[Any], query: str, params: Sequence[Any]) -> _Rows:
    """Run the statement; a server that takes no writes has been failed over from, so leave it."""
    try:
        return _run(connection, query, params)
    except psycopg.errors.ReadOnlySqlTransaction:
        connection.close()
        raise


def _run(connection: psycopg.Connection[Any], query: str, params: Sequence[Any] = ()) -> _Rows:
    # Not connection.execute: the caller's cursor and row factories are not for us. Binary, since the text of
    # times and intervals depends on the session's settings.
    cursor = psycopg.Cursor(connection, row_factory=tuple_row)
    return cursor.execute(query, params, binary=True).fetchall()
