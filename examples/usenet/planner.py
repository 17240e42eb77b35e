"""The planner: asks the news server for its groups at intervals, and plans what is new."""

from __future__ import annotations

import time

import click

import pyleases
from examples.usenet.news import News
from pyleases.active import PlanReport, plan_active, read_active


def plan_once(leases: pyleases.Leases, news: News, size: int) -> PlanReport:
    """Plan what the server lists: at first sight as history, and what has come since as the tail.

    A low watermark that has risen changes no plan: what is gone is read as gone.
    """
    return plan_active(leases, read_active(news.groups()), priority=50, size=size)


@click.command()
@click.option("--dsn", envvar="PYLEASES_DSN", required=True, help="The database.")
@click.option("--news", "url", required=True, help="nntp[s]://[user:password@]host[:port]")
@click.option("--cafile", help="Certificates to trust.")
@click.option("--every", default=60.0, show_default=True, help="Seconds between two listings.")
@click.option("--size", default=10_000, show_default=True, help="Articles in a range, at most.")
def main(dsn: str, url: str, cafile: str | None, every: float, size: int) -> None:
    """Plan the groups of a news server, again and again."""
    news = News(url, cafile=cafile)
    with pyleases.connect(dsn) as leases:
        while True:
            plan_once(leases, news, size)
            time.sleep(every)


if __name__ == "__main__":
    main()
