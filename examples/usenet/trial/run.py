"""``make usenet``: a news server, workers, accidents, and the comparison at the end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import psycopg

import pyleases
from examples.usenet.catalog import SCHEMA
from examples.usenet.news import News
from examples.usenet.planner import plan_once
from examples.usenet.trial import report
from examples.usenet.trial.articles import REAL_GROUPS, Feed, Maker, real_articles
from examples.usenet.trial.server import HOST, NewsServer, news_server, tied
from pyleases.devserver import server as postgresql
from pyleases.migrate import migrate

_ROOT = Path(__file__).parents[3]
_PATIENCE = 180.0
_DAY = 86_400
_PLENTY = 1 << 40  # bytes for the catalog


@dataclass(frozen=True)
class Settings:
    """How large the trial is, and how hasty."""

    seed: int
    articles: int  # before the workers start
    live: int  # while they work,
    seconds: float  # in so many seconds
    groups: int
    workers: int
    pace: float  # seconds a batch
    ttl: float = 3.0
    batch: int = 100
    save_every: int = 500
    width: int = 600
    size: int = 1_000

    @property
    def names(self) -> list[str]:
        """The groups of the made articles."""
        return [f"alt.binaries.made.{n}" for n in range(self.groups)]


@dataclass
class Trial:
    """The servers, the processes, and what was done to them."""

    settings: Settings
    inn: NewsServer
    dsn: str
    folder: Path
    connection: psycopg.Connection[Any]
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    planner: subprocess.Popen[bytes] | None = None
    harm: dict[int, tuple[str, float]] = field(default_factory=dict)  # to a lease's holder, when
    events: list[tuple[str, float, float]] = field(default_factory=list)  # for the picture

    @property
    def url(self) -> str:
        """Where readers find the news server."""
        return f"nntp://{HOST}:{self.inn.port}"

    def start(self) -> None:
        """Start the planner and the workers; every other one looks at the live end first."""
        s = self.settings
        self.planner = self._process("planner", every=0.5, size=s.size)
        for n in range(s.workers):
            name, first = f"indexer-{n + 1}", "tail" if n % 2 else "history"
            self.workers[name] = self._process(
                "worker", name=name, first=first, width=s.width, batch=s.batch, pace=s.pace,
                save_every=s.save_every, snapshots=self.folder, journal=self.folder / name,
            )  # fmt: skip

    def _process(self, module: str, **options: object) -> subprocess.Popen[bytes]:
        options |= {"dsn": self.dsn, "news": self.url}
        told = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        command = tied(sys.executable, "-m", f"examples.usenet.{module}", *told)
        return subprocess.Popen(command, cwd=_ROOT)

    def end(self) -> None:
        """Leave no process behind."""
        for process in filter(None, (*self.workers.values(), self.planner)):
            process.kill()
            process.wait()

    def until(self, enough: Callable[[], Any], what: str) -> Any:
        """Wait until something is so, and return what is."""
        deadline = time.monotonic() + _PATIENCE
        while not (answer := enough()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {_PATIENCE:.0f} seconds for {what}")
            for name, process in self.workers.items():
                if process.poll() not in (None, 0, -signal.SIGKILL):
                    raise RuntimeError(f"{name} ended, with exit status {process.poll()}")
            time.sleep(0.1)
        return answer

    def one(self, query: str, *params: object) -> Any:
        """Return the first column of the first row."""
        row = self.connection.execute(query.encode(), params).fetchone()
        return row[0] if row else None

    def read(self) -> float:
        """Tell how much of what is planned is read: from 0 to 1."""
        query = "select sum(next_id - start_id)::float8 / sum(end_id - start_id + 1) from leases.range_status"
        return float(self.one(query))

    def holds(self) -> list[report.Hold]:
        """Read the workers' journals."""
        return report.holds_of((self.folder / name for name in self.workers), self.harm)

    def strike(self, number: int, what: str) -> report.Hold:
        """Send a signal to a worker that holds history and has read what no snapshot has."""

        def victim() -> report.Hold | None:
            last = {hold.worker: hold for hold in self.holds()}
            held = (
                h for h in last.values() if h.lane[1] == "history" and h.unsaved >= 2 and not h.how
            )
            return next(held, None)

        hold: report.Hold = self.until(victim, f"a worker to be {what}")
        self.workers[hold.worker].send_signal(number)
        if number != signal.SIGTERM:
            self.harm[hold.lease] = what, time.time()
        self.events.append((f"{hold.worker} {what}", time.time(), time.time()))
        return hold

    def until_taken_over(self, hold: report.Hold) -> None:
        """Wait until a later lease has the lane."""
        self.until(
            lambda: any(h.lane == hold.lane and h.lease > hold.lease for h in self.holds()),
            f"the lane {' '.join(hold.lane)} to be taken over",
        )

    @contextlib.contextmanager
    def event(self, what: str) -> Iterator[None]:
        """Mark in the picture what is done in the block."""
        began = time.time()
        yield
        self.events.append((what, began, time.time()))


def fill(trial: Trial, maker: Maker, feed: Feed, data: Path) -> None:
    """Fill the news server, and let the oldest articles expire: numbers do not begin at 1."""
    now, began = time.time(), time.monotonic()
    feed.send_all(maker.expiring(100, now + _DAY))
    feed.send_all(maker.expiring(200, now + 10 * _DAY))
    feed.send_all(real_articles(data))
    feed.send_all(maker.articles(trial.settings.articles))
    seconds = time.monotonic() - began
    click.echo(f"filled: {feed.accepted:,} articles in {seconds:.1f} s, {feed.refused} refused")
    trial.inn.expire(days_ahead=2)
    maker.live = True


def accidents(trial: Trial) -> None:
    """Kill, freeze and stop a worker each, fill the catalog, take the news server away."""
    trial.until(lambda: trial.read() > 0.1, "the first articles")
    killed = trial.strike(signal.SIGKILL, "killed")
    trial.until(lambda: trial.read() > 0.2, "more articles")
    frozen = trial.strike(signal.SIGSTOP, "frozen")
    stopped = trial.strike(signal.SIGTERM, "told to stop")
    trial.until(lambda: trial.workers[stopped.worker].poll() == 0, f"{stopped.worker} to stop")
    with trial.event("catalog full"):
        full(trial)
    trial.until_taken_over(frozen)
    trial.workers[frozen.worker].send_signal(signal.SIGCONT)
    trial.until(lambda: trial.read() > 0.5, "half of it")
    with trial.event("INN away"):
        trial.inn.expire(days_ahead=20)
    trial.until_taken_over(killed)


def full(trial: Trial) -> None:
    """Let the catalog be at its cap until history waits: none is leased, and the tail goes on."""
    newest = "select coalesce(max(lease_id), 0) from leases.group_status where lane = 'history'"
    history = "from leases.lane_status where lane = 'history'"
    trial.one(
        "update usenet.room set cap_bytes = pg_total_relation_size('usenet.posts') returning 1"
    )
    trial.until(lambda: not trial.one(f"select is_open {history}"), "history to yield")
    time.sleep(0.5)  # a call that was under way may still be granted
    before = trial.one(newest)
    trial.until(lambda: trial.one(f"select groups_waiting {history}"), "history to wait")
    time.sleep(trial.settings.ttl + 1)  # those of the harmed workers wait as well, then
    if trial.one(newest) > before:
        raise RuntimeError("history was leased while the catalog was full")
    trial.one("update usenet.room set cap_bytes = %s returning 1", _PLENTY)


def play(settings: Settings, data: Path, picture: Path | None) -> bool:
    """Do it all, and tell whether the catalog is right."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pyleases-usenet-")))
        inn = stack.enter_context(news_server([*settings.names, *REAL_GROUPS]))
        dsn = stack.enter_context(postgresql()).dsn()
        migrate(dsn)
        connection = stack.enter_context(psycopg.connect(dsn, autocommit=True))
        connection.execute(SCHEMA)
        connection.execute("insert into usenet.room values (%s)", [_PLENTY])
        connection.execute(
            "update leases.lanes set ttl = make_interval(secs => %s)", [settings.ttl]
        )
        leases = stack.enter_context(pyleases.connect(dsn))
        trial = Trial(settings, inn, dsn, folder, connection)
        maker, feed = Maker(settings.names, settings.seed, settings.width), Feed(inn)
        fill(trial, maker, feed, data)
        news = News(trial.url)
        plan_once(leases, news, settings.size)
        stack.callback(trial.end)
        began = time.monotonic()
        trial.start()
        live = threading.Thread(
            target=feed.send_all,
            args=(maker.articles(settings.live), settings.seconds / settings.live),
            daemon=True,
        )
        live.start()
        accidents(trial)
        live.join()
        plan_once(leases, news, settings.size)
        trial.until(lambda: trial.read() == 1, "all to be read")
        seconds = time.monotonic() - began
        for process in trial.workers.values():
            process.terminate()
            process.wait(_PATIENCE)
        trial.end()
        holds = trial.holds()
        if picture:
            report.draw(picture, holds, trial.events)
        return report.tell(connection, news, holds, settings.width, seconds)


@click.command()
@click.option("--seed", envvar="SEED", default=1, show_default=True, help="Of all that is made.")
@click.option("--short", is_flag=True, help="A small trial, for CI.")
@click.option("--workers", type=click.IntRange(4), default=6, show_default=True)
@click.option(
    "--data", type=click.Path(path_type=Path), default=_ROOT.parent / "shared" / "data",
    help="A folder of real articles.",
)  # fmt: skip
@click.option("--picture", type=click.Path(path_type=Path), help="Where to draw it.")
def main(seed: int, short: bool, workers: int, data: Path, picture: Path | None) -> None:
    """Index a news server with several workers, harm them and it, and compare."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))
    size = (5_000, 1_000, 10, 4) if short else (24_000, 6_000, 20, 8)
    settings = Settings(seed, *size, workers=workers, pace=0.2 if short else 0.3)
    if not play(settings, data, picture):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
