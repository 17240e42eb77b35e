"""A second client, which shares nothing with the wrapper: plain SQL through psql, files by hand."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import xxhash

import pyleases
from pyleases.demo.worker import Job
from pyleases.devserver import find_binaries
from pyleases.retries import now

_PASSES = ("40001", "40P01", "25006", "53300", "57P", "08")
_MARK = "@@"
_NULL = "\\N"


def program() -> str:
    """Return where psql is."""
    return shutil.which("psql") or str(find_binaries() / "psql")


class SqlError(Exception):
    """The server's answer was an error, of this SQLSTATE."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class _LostError(Exception):
    """There was no answer."""


class _Psql:
    """A psql that answers one statement after the other."""

    def __init__(self, dsn: str) -> None:
        command = ["stdbuf", "-oL", program(), "-XAtq", "-F", "\t", "-P", f"null={_NULL}", dsn]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        environment = os.environ | {"PGAPPNAME": "psql-worker"}
        self._process = subprocess.Popen(command, text=True, env=environment, **pipes)

    def ask(self, statement: str) -> list[list[str | None]]:
        process = self._process
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(f"{statement};\n\\echo {_MARK} :SQLSTATE\n")
            process.stdin.flush()
        except OSError as error:
            raise _LostError from error
        rows: list[list[str | None]] = []
        for line in process.stdout:
            if line.startswith(_MARK):
                state = line.split()[1]
                if state != "00000":
                    raise SqlError(state)
                return rows
            rows.append([None if v == _NULL else v for v in line.rstrip("\n").split("\t")])
        raise _LostError

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class _Leases:
    """The functions a worker calls, by hand. Each is repeated after a lost answer, for a while."""

    def __init__(self, job: Job, calls: Any) -> None:
        self.folder = job.snapshots
        self._dsn, self._calls, self._patience = job.dsn, calls, 30.0
        self._psql = _Psql(self._dsn)

    def ask(self, call: str, until: float | None = None, columns: str = "*") -> list[list[Any]]:
        """Make the call; raise pyleases.LeaseLost, or SqlError."""
        limit = until or now() + self._patience
        while True:
            try:
                rows = self._psql.ask(f"select {columns} from leases.{call}")
            except _LostError:
                self._calls.count(failed=True)
                self._psql.close()
                self._psql = _Psql(self._dsn)
                state = "08006"
            except SqlError as error:
                state = error.state
                self._calls.count(failed=False)
                if state == "LS001":
                    raise pyleases.LeaseLost("the lease is lost") from None
                if not state.startswith(_PASSES):
                    raise
            else:
                self._calls.count(failed=False)
                return rows
            if now() > limit:
                raise SqlError(state)
            time.sleep(random.random() * 0.3)

    def register_node(self, name: str) -> int:
        return int(self.ask(f"register_node(name => '{name}')")[0][0])

    def release_node(self, node: int) -> None:
        self.ask(f"release_node(node_id => {node})")

    def lease_group(self, node: int, lane: str) -> _Lease | None:
        sent = now()
        columns = "lease_id, group_id, group_name, lane, extract(epoch from ttl), snapshot_id"
        call = f"lease_group(node_id => {node}, lane => '{lane}')"
        rows = self.ask(call, columns=columns)
        if not rows:
            return None
        lease_id, group_id, name, lane, ttl, snapshot_id = rows[0]
        return _Lease(self, int(lease_id), int(group_id), name, lane, float(ttl), snapshot_id, sent)

    def close(self) -> None:
        self._psql.close()


@contextlib.contextmanager
def connect(job: Job, calls: Any) -> Iterator[_Leases]:
    """Give the functions that a worker calls, over psql."""
    leases = _Leases(job, calls)
    try:
        yield leases
    finally:
        leases.close()


@dataclass
class _Range:
    lease: _Lease
    range_id: int
    end_id: int
    next_id: int

    def progress(self, next_id: int) -> None:
        self.lease.say(f"heartbeat(lease_id => {self.lease.lease_id}, next_id => {next_id})")


class _Lease:
    """A lease as far as `pyleases.demo.worker.index` knows one."""

    def __init__(
        self,
        leases: _Leases,
        lease_id: int,
        group_id: int,
        name: str,
        lane: str,
        ttl: float,
        snapshot_id: Any,
        sent: float,
    ) -> None:
        self.lease_id, self.group_id, self.group_name, self.lane = lease_id, group_id, name, lane
        self.snapshot_id = snapshot_id
        self._leases, self._ttl = leases, ttl
        self._contact = SimpleNamespace(heard=sent, given_up=False)

    def __enter__(self) -> _Lease:
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        if kind is pyleases.LeaseLost:
            return
        with contextlib.suppress(pyleases.LeaseLost):  # given back before an answer was lost
            self._ask(f"release_group(lease_id => {self.lease_id})")

    def say(self, call: str) -> list[list[Any]]:
        sent = now()
        rows = self._ask(call)
        self._contact.heard = sent
        return rows

    def _ask(self, call: str) -> list[list[Any]]:
        try:
            return self._leases.ask(call, self._contact.heard + self._ttl)
        except SqlError as error:
            if error.state.startswith(_PASSES):
                self._contact.given_up = True
                raise pyleases.LeaseLost("not heard of for a ttl") from None
            raise

    def ranges(self) -> Iterator[_Range]:
        rows = self.say(f"next_range(lease_id => {self.lease_id})")
        while rows:
            range_id, _, end_id, next_id = map(int, rows[0][:4])
            yield _Range(self, range_id, end_id, next_id)
            rows = self.say(
                f"finish_and_next(lease_id => {self.lease_id}, range_id => {range_id}, headers => 1)"
            )

    @contextlib.contextmanager
    def open_snapshot(self) -> Iterator[io.BytesIO | None]:
        rows = self._ask(f"current_snapshot(lease_id => {self.lease_id})")
        if not rows:
            yield None
            return
        snapshot_id, _, file, size, checksum = rows[0][:5]
        snapshot = SimpleNamespace(snapshot_id=int(snapshot_id))
        try:
            body = (self._leases.folder / file).read_bytes()
        except FileNotFoundError:
            raise pyleases.SnapshotMissing(file, snapshot) from None
        kind, _, digest = checksum.partition(":")
        found = (xxhash.xxh3_128 if kind == "xxh3_128" else hashlib.sha256)(body).hexdigest()
        if len(body) != int(size) or found != digest:
            raise pyleases.SnapshotCorrupt(file, snapshot)
        yield io.BytesIO(body)

    def reject_snapshot(self, snapshot: Any) -> None:
        self._ask(
            f"reject_snapshot(lease_id => {self.lease_id}, snapshot_id => {snapshot.snapshot_id})"
        )

    def put_snapshot(self, next_id: int, chunks: Iterable[bytes]) -> None:
        me = f"lease_id => {self.lease_id}"
        snapshot_id, file = self.say(f"begin_snapshot({me}, next_id => {next_id})")[0]
        body = b"".join(chunks)
        path: Path = self._leases.folder / file
        try:
            with path.open("xb") as out:
                out.write(body)
                out.flush()
                os.fsync(out.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            raise
        folder = os.open(self._leases.folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        checksum = f"sha256:{hashlib.sha256(body).hexdigest()}"
        self.say(
            f"commit_snapshot({me}, snapshot_id => {snapshot_id}, bytes => {len(body)}, checksum => '{checksum}')"
        )
