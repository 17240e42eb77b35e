"""A PgBouncer in transaction mode before a server."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg


def find() -> str | None:
    """Return where the program is, if it is."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


class Bouncer:
    """Listens on a socket in ``place``; transaction mode, as the server's own account."""

    port = 6432

    def __init__(
        self,
        server_folder: str,
        server_port: int | str,
        roles: Sequence[str],
        *,
        pool_size: int = 2,
    ) -> None:
        self._binary = find() or ""
        self._roles = roles
        self._server = (server_folder, server_port)
        self._pool_size = pool_size
        self._process: subprocess.Popen[bytes] | None = None
        self.place = Path(tempfile.mkdtemp(prefix="pyleases-pgb-"))  # where any account may look

    @property
    def socket(self) -> str:
        """The path of its socket."""
        return str(self.place / f".s.PGSQL.{self.port}")

    def __enter__(self) -> Bouncer:
        self._configure()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.place)

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process = subprocess.Popen(
            [self._binary, str(self.place / "pgbouncer.ini")],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            **self._account(),
        )
        deadline = time.monotonic() + 10
        while not Path(self.socket).exists():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError("pgbouncer did not start")
            time.sleep(0.02)

    def kill(self) -> None:
        """End it as the kernel's out-of-memory killer would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        Path(self.socket).unlink(missing_ok=True)

    def wait(self, **where: Any) -> None:
        """Wait until a connection through it can be made."""
        deadline = time.monotonic() + 10
        while True:
            try:
                psycopg.connect(
                    host=str(self.place), port=self.port, connect_timeout=5, **where
                ).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def point_to(self, server_folder: str) -> None:
        """Lead to another server, which takes a new start."""
        self.kill()
        self._server = (server_folder, self._server[1])
        self._configure()
        self.start()

    def _configure(self) -> None:
        host, port = self._server
        config = self.place / "pgbouncer.ini"
        prepared = "max_prepared_statements = 0\n" if self._version() >= (1, 21) else ""
        config.write_text(
            f"""
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr =
listen_port = {self.port}
unix_socket_dir = {self.place}
auth_type = trust
auth_file = {self.place / "users.txt"}
pool_mode = transaction
default_pool_size = {self._pool_size}
query_wait_timeout = 5
client_login_timeout = 5
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
{prepared}"""
        )
        users = "".join(f'"{role}" ""\n' for role in self._roles)
        (self.place / "users.txt").write_text(users)
        account = self._account()
        if account:  # it refuses root; the server's own account reaches the server's socket
            for path in (self.place, *self.place.iterdir()):
                os.chown(path, account["user"], account["group"])
        self.place.chmod(0o755)

    def _account(self) -> dict[str, Any]:
        if os.geteuid() != 0:
            return {}
        folder = Path(self._server[0])
        owner = folder.stat() if folder.is_absolute() else None
        uid, gid = (owner.st_uid, owner.st_gid) if owner and owner.st_uid else (65534, 65534)
        return {"user": uid, "group": gid, "extra_groups": []}

    def _version(self) -> tuple[int, ...]:
        done = subprocess.run(
            [self._binary, "--version"], capture_output=True, text=True, check=True
        )
        return tuple(int(part) for part in done.stdout.split()[1].split(".")[:2])
