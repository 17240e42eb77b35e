"""How hard the property tests try, and the database that all examples of one test share.

``PYLEASES_EXAMPLES`` is how many interleavings each test plays: the default is a minute's worth for
all of them together, a soak takes tens of thousands. ``PYLEASES_STEPS`` is how long each may get.
With either set, a failure is shrunk, which may take five minutes; its blob repeats it in any case.
"""

import os
import time
from collections.abc import Callable

import hypothesis
import psycopg
import pytest

EXAMPLES = int(os.environ.get("PYLEASES_EXAMPLES", "0"))
STEPS = int(os.environ.get("PYLEASES_STEPS", "0"))
QUICK = tuple(
    p for p in hypothesis.Phase if p not in (hypothesis.Phase.shrink, hypothesis.Phase.explain)
)


@pytest.fixture
def effort() -> Callable[[int], hypothesis.settings]:
    """Give the settings of a test, by its number of examples in a quick run."""

    def settings(quick: int) -> hypothesis.settings:
        return hypothesis.settings(
            max_examples=EXAMPLES or quick,
            stateful_step_count=STEPS or 60,
            phases=tuple(hypothesis.Phase) if EXAMPLES or STEPS else QUICK,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )

    return settings


@pytest.fixture
def played(db: psycopg.Connection) -> psycopg.Connection:
    """Give the database to play in: nobody goes quiet there unless a step makes it so."""
    ttl = 8
    db.execute("set jit = off")
    db.execute("update leases.lanes set ttl = make_interval(secs => %s)", [ttl])
    # C9: nobody counts as quiet before a full ttl after the server's start.
    up = db.execute(
        "select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float as up"
    ).fetchone()["up"]
    time.sleep(max(0.0, ttl + 1 - up))
    return db


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a soak take the time that it takes."""
    for item in items:
        if (EXAMPLES or STEPS) and "property" in str(item.path):
            item.add_marker(pytest.mark.timeout(0), append=False)
