"""A news server of our own: INN, in its own folder and on its own ports of the loopback address.

Nothing of a news server that the machine may have is touched: ``INNCONF`` names a configuration that names every
folder. INN insists on being the user ``news``: root becomes it, and everybody else in a user namespace of theirs.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
_PATIENCE = 30.0
_PLACES = ("/usr/lib/news/bin", "/usr/libexec/news/bin", "/usr/local/news/bin")
_FOLDERS = "etc db log run tmp filter archive incoming outgoing spool/articles spool/overview"
_OWN_GROUPS = ("control", "control.cancel", "junk")  # INN wants them; readers don't see them


class NewsServerError(RuntimeError):
    """INN is not there, or did not do what it was asked."""


def find_inn() -> Path:
    """Return the folder of INN's programs. Raises `NewsServerError` where there is none."""
    for place in filter(None, (os.environ.get("INN_BIN"), *_PLACES)):
        if os.access(Path(place) / "innd", os.X_OK):
            return Path(place)
    raise NewsServerError("no INN here: apt-get install inn2, or set INN_BIN to its programs")


@dataclass
class NewsServer:
    """INN in the folder ``base``: `feed` is the port for peers, `port` the one for readers."""

    base: Path
    bin: Path
    tls: bool
    feed: int
    port: int
    _running: list[subprocess.Popen[Any]] = field(default_factory=list)

    def start(self) -> None:
        """Start ``innd`` and the readers' ``nnrpd``, and wait until both answer."""
        self._spawn("innd", "-f")
        self._spawn("nnrpd", "-D", "-f", "-b", HOST, "-p", self.port, *(["-S"] if self.tls else []))
        self._wait_for(self.feed)
        self._wait_for(self.port)

    def stop(self) -> None:
        """Stop both, and whoever still serves a reader."""
        with contextlib.suppress(NewsServerError):
            self.run("ctlinnd", "-s", "-t", "5", "shutdown", "stopped")
        while self._running:
            process = self._running.pop()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL if self._running else signal.SIGTERM)
            process.wait(_PATIENCE)

    def expire(self, *, days_ahead: float) -> None:
        """Restart; meanwhile, remove the articles that will have expired in some days.

        Not while readers are served: as ``expireover`` rewrites a group's overview, INN may tell a
        reader that articles are gone which are there.
        """
        low = self.base / "tmp" / "low"
        self.stop()
        self.run("expireover", "-q", "-w", days_ahead, "-Z", low)
        self.start()
        self.run("ctlinnd", "-s", "lowmark", low)

    def run(self, program: str, *arguments: object) -> str:
        """Run a program of INN and return its output. Raises `NewsServerError` where it fails."""
        command = [*_as_news().command, str(self.bin / program), *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, **self._options()
        )
        if done.returncode:
            raise NewsServerError(f"{program}: {done.stdout}{done.stderr}".strip())
        return str(done.stdout)

    def _spawn(self, program: str, *arguments: object) -> None:
        command = [*_as_news().command, *tied(self.bin / program, *arguments)]
        with (self.base / "log" / program).open("ab") as log:
            out: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            process = subprocess.Popen(command, start_new_session=True, **out, **self._options())
        self._running.append(process)

    def _options(self) -> dict[str, Any]:
        env = os.environ | {"INNCONF": str(self.base / "etc" / "inn.conf"), "LC_ALL": "C"}
        return {"cwd": self.base, "env": env} | _as_news().options

    def _wait_for(self, port: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline and all(p.poll() is None for p in self._running):
            with contextlib.suppress(OSError):
                socket.create_connection((HOST, port), 1).close()
                return
            time.sleep(0.05)
        said = "".join(log.read_text(errors="replace") for log in (self.base / "log").iterdir())
        raise NewsServerError(f"INN did not start: {said[-2000:]}")

    def lay_out(self, groups: Sequence[str], passwd: str, certificate: Sequence[bytes]) -> None:
        """Make the folders, the configuration and an empty database."""
        for folder in _FOLDERS.split():
            (self.base / folder).mkdir(parents=True)
        etc, db = self.base / "etc", self.base / "db"
        auth = f'auth: "ckpasswd -f {etc}/passwd"' if passwd else 'default: "anyone"'
        values = {"host": HOST, "feed": self.feed, "base": self.base, "bin": self.bin, "auth": auth}
        for template in (Path(__file__).parent / "inn").iterdir():
            (etc / template.name).write_text(template.read_text().format(**values))
        (etc / "passwd").write_text(passwd)
        for name, pem in zip(("cert.pem", "key.pem"), certificate, strict=False):
            (etc / name).write_bytes(pem)
            (etc / name).chmod(0o600)
        active = "".join(f"{g} 0000000000 0000000001 y\n" for g in (*_OWN_GROUPS, *groups))
        (db / "active").write_text(active)
        for empty in ("newsgroups", "active.times", "history"):
            (db / empty).touch()
        if os.geteuid() == 0:
            for path in (self.base, *self.base.rglob("*")):
                shutil.chown(path, "news", "news")
        self.run("makedbz", "-i", "-o", "-s", 100_000)


@contextlib.contextmanager
def news_server(
    groups: Sequence[str], *, passwd: str = "", certificate: Sequence[bytes] = ()
) -> Iterator[NewsServer]:
    """Run a news server that has these groups, empty; remove all of it when the block is left.

    ``passwd`` has lines ``user:crypted password``: readers must log in. ``certificate`` is a
    certificate and its key, in PEM: readers speak TLS.
    """
    with contextlib.ExitStack() as stack:
        base = Path(tempfile.mkdtemp(prefix="pyleases-inn-", dir="/tmp"))
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        base.chmod(0o755)
        feed, port = _free_ports(2)
        server = NewsServer(base, find_inn(), bool(certificate), feed, port)
        server.lay_out(groups, passwd, certificate)
        stack.callback(server.stop)
        server.start()
        yield server


def tied(*command: object) -> list[str]:
    """Return the command of a process that does not outlive this one, however this one ends."""
    tie = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    return [*tie, *map(str, command)]


@dataclass(frozen=True)
class _As:
    command: tuple[str, ...] = ()  # to put before another
    options: dict[str, Any] = field(default_factory=dict)  # of Popen


def _as_news() -> _As:
    try:
        news = pwd.getpwnam("news")
    except KeyError:
        raise NewsServerError("INN runs as the user news, and there is none") from None
    if os.geteuid() == 0:
        return _As(options={"user": news.pw_uid, "group": news.pw_gid, "extra_groups": []})
    if os.geteuid() == news.pw_uid:
        return _As()
    return _As(("unshare", "--user", "--map-user=news", "--map-group=news"))


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [s.getsockname()[1] for s in sockets]
