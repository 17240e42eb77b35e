"""The worker: leases a lane of a group, reads its overviews through a window, writes complete posts to the catalog."""

from __future__ import annotations

import functools
import json
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import pyleases
from examples.usenet.catalog import Catalog
from examples.usenet.news import News, NewsError, Overview
from examples.usenet.window import Window

_IDLE = 0.2  # seconds between two looks for a lease, when there was nothing


class Journal:
    """What a worker did, a line an event: for the report, not needed for the work."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)

    def __call__(self, did: str, **event: Any) -> None:
        """Append an event."""
        self._file.write(json.dumps({"at": time.time(), "did": did} | event) + "\n")


class Stop:
    """Set by SIGTERM; looked at between two batches."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


@dataclass
class Worker:
    """One worker process."""

    leases: pyleases.Leases
    news: News
    catalog: Catalog
    journal: Journal
    stop: Stop
    width: int  # of the window, in article numbers
    batch: int  # articles asked for at once
    save_every: int  # articles between two snapshots
    pace: float  # seconds that a full batch takes at least

    def index(self, lease: pyleases.Lease) -> None:
        """Read a lane on from where its window stands, until it is caught up."""
        window, unsaved = self._window(lease), 0
        for r in lease.ranges():
            if window is None:
                # Saved before any resume point is told: from here on no window is ever lost.
                ask = functools.partial(self._overviews, lease)
                window = Window.fresh(self.width, r.next_id, ask)
                self._save(lease, window)
            window.next = r.next_id
            while window.next <= r.end_id:
                try:
                    r.headers += self._read(lease, window, r.end_id)
                except NewsError as error:
                    r.fail(str(error))  # the group is gone, say: for a person to look at
                    return
                r.progress(window.next)
                unsaved += self.batch
                if unsaved >= self.save_every or self.stop.asked:
                    self._save(lease, window)
                    unsaved = 0
                if self.stop.asked:
                    return
        if window is not None and unsaved:
            self._save(lease, window)

    def _window(self, lease: pyleases.Lease) -> Window | None:
        """Load the lane's window; None where it has none, or none that is whole."""
        while True:
            try:
                with lease.open_snapshot() as body:
                    return Window.load(body) if body else None
            except (pyleases.SnapshotMissing, pyleases.SnapshotCorrupt) as error:
                lease.reject_snapshot(error.snapshot)

    def _read(self, lease: pyleases.Lease, window: Window, end: int) -> int:
        """Read a batch. What it completes is in the catalog before anybody is told that it was read."""
        began, first, last = time.monotonic(), window.next, min(window.next + self.batch - 1, end)
        articles = self._overviews(lease, first, last)
        posts = window.read(articles, last + 1)
        new = self.catalog.write(lease, posts)
        counts = {"articles": len(articles), "posts": len(posts), "new": new}
        self.journal("read", lease=lease.lease_id, first=first, last=last, **counts)
        least = self.pace * (last - first + 1) / self.batch
        time.sleep(max(0.0, least - (time.monotonic() - began)))
        return len(articles)

    def _overviews(self, lease: pyleases.Lease, first: int, last: int) -> list[Overview]:
        """Ask the server, and let the lease live while it does not answer."""

        def meanwhile() -> None:
            self.journal("asked again", lease=lease.lease_id)
            lease.heartbeat()

        return self.news.overviews(lease.group_name, first, last, meanwhile)

    def _save(self, lease: pyleases.Lease, window: Window) -> None:
        body = window.dump()
        lease.put_snapshot(window.next, body)
        self.journal(
            "snapshot", lease=lease.lease_id, next=window.next, posts=len(window), bytes=len(body)
        )
        self.catalog.report(self.leases)

    def run(self, name: str, lanes: tuple[str, ...]) -> None:
        """Work until told to stop."""
        node = self.leases.register_node(name)
        self.leases.release_node(node)
        while not self.stop.asked:
            self.catalog.report(self.leases)
            lease = next(
                filter(None, (self.leases.lease_group(node, lane) for lane in lanes)), None
            )
            if lease is None:
                time.sleep(_IDLE)
                continue
            note = functools.partial(self.journal, lease=lease.lease_id)
            note("lease", group=lease.group_name, lane=lease.lane, start=lease.snapshot_next)
            try:
                with lease:
                    self.index(lease)
                note("released")
            except pyleases.LeaseLost:
                note("lost")
            except OSError as error:
                note("gave up", why=repr(error))


@click.command()
@click.option("--dsn", envvar="PYLEASES_DSN", required=True, help="The database.")
@click.option("--snapshots", envvar="PYLEASES_SNAPSHOTS", required=True, help="Their folder.")
@click.option("--news", "url", required=True, help="nntp[s]://[user:password@]host[:port]")
@click.option("--cafile", help="Certificates to trust.")
@click.option("--name", required=True, help="The node's name.")
@click.option(
    "--first",
    type=click.Choice(["tail", "history"]),
    default="tail",
    help="The lane to look at first.",
)
@click.option(
    "--journal", type=click.Path(path_type=Path), default="/dev/null", help="What was done."
)
@click.option("--width", default=100_000, help="Articles until a post is given up.")
@click.option("--batch", default=1_000, help="Articles asked for at once.")
@click.option("--save-every", default=100_000, help="Articles between two snapshots.")
@click.option("--pace", default=0.0, help="Seconds that a full batch takes at least.")
def main(dsn: str, snapshots: str, url: str, cafile: str | None, name: str, first: str, journal: Path,
         **how: Any) -> None:  # fmt: skip
    """Index the groups of a news server until told to stop."""
    lanes = ("tail", "history") if first == "tail" else ("history", "tail")
    news, catalog, stop = News(url, cafile=cafile), Catalog(dsn), Stop()
    with pyleases.connect(dsn, snapshots=snapshots) as leases:
        Worker(leases, news, catalog, Journal(journal), stop, **how).run(name, lanes)


if __name__ == "__main__":
    main()
