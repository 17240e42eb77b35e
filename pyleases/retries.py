"""Asking again: which errors pass by themselves, and for how long a call is repeated."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import psycopg
import tenacity
from psycopg_pool import PoolClosed

__all__ = ["Retries", "came_after_lost_answer", "is_uncertain", "is_unreachable", "now"]

_Answer = TypeVar("_Answer")

_NOT_DONE = ("40001", "40P01", "25006", "53300", "57P03")  # whatever was asked, it was not done
_NO_SERVER_TO_WRITE = ("25006", "53300")


if hasattr(time, "CLOCK_BOOTTIME"):

    def now() -> float:
        """Return seconds on a clock that nobody sets, and that goes on while the machine sleeps."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:
    now = time.monotonic


@dataclass(frozen=True)
class Retries:
    """How calls are repeated that failed for a reason which passes by itself.

    Such are: the connection was lost or can't be made, the server shuts down, starts, takes no writes (a failover)
    or has no connection left, and PostgreSQL gave up the transaction to serialize it or to end a deadlock. The pauses
    are random, of at most ``first`` seconds, then twice that and so on up to ``longest``. A call under a lease is
    repeated until a ttl has gone by since the last one that was answered, any other one for ``seconds``.
    """

    seconds: float = 60.0
    first: float = 0.1
    longest: float = 3.0

    def call(
        self,
        attempt: Callable[[], _Answer],
        *,
        repeatable: bool = True,
        until: float | None = None,
    ) -> _Answer:
        """Make the attempt until it succeeds, fails for good, or `now` is past ``until``.

        One that is not ``repeatable`` is repeated only where it is certain that nothing was done. An error that
        comes after a lost answer has that loss as its cause.
        """
        limit = now() + self.seconds if until is None else until
        lost: list[psycopg.Error] = []

        def once() -> _Answer:
            try:
                return attempt()
            except psycopg.Error as error:
                if lost and error.__cause__ is None:
                    error.__cause__ = lost[0]
                if is_uncertain(error):
                    lost.append(error)
                raise

        pause = tenacity.wait_random_exponential(multiplier=self.first, max=self.longest)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: _passes(error, repeatable)),
            wait=lambda state: min(pause(state), max(0.0, limit - now())),
            stop=lambda _: now() >= limit,
            reraise=True,
        )
        return retrying(once)


def is_uncertain(error: BaseException) -> bool:
    """Tell whether the connection was lost, so that what was asked may have been done all the same."""
    if not isinstance(error, psycopg.OperationalError) or isinstance(error, PoolClosed):
        return False
    state = error.sqlstate
    return state is None or state.startswith(("08", "57P")) or state == "40003"


def is_unreachable(error: BaseException) -> bool:
    """Tell whether there is no server now that could answer."""
    return is_uncertain(error) or getattr(error, "sqlstate", None) in _NO_SERVER_TO_WRITE


def came_after_lost_answer(error: BaseException) -> bool:
    """Tell whether the call had been made before, and may have been done then."""
    cause = error.__cause__
    return cause is not None and (is_uncertain(cause) or came_after_lost_answer(cause))


def _passes(error: BaseException, repeatable: bool) -> bool:
    if isinstance(error, psycopg.Error) and error.sqlstate in _NOT_DONE:
        return True
    return repeatable and is_uncertain(error)
