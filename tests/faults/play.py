"""Plays a run: the load, faults of some kinds at random times, draining, judging."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tests.faults.result import Result
from tests.faults.world import Size, World, world


class Fault(Protocol):
    """A kind of fault. Its strikes are told as a few words each, which are counted."""

    name: str
    pause: tuple[float, float]  # seconds between two strikes, at least and at most

    def lacks(self) -> str | None:
        """Tell what is missing here to do it, if anything."""

    def prepare(self, here: World) -> None:
        """Do what has to be done before the workers start."""

    def strike(self, here: World) -> str | None:
        """Do it once, and tell what was done; None if there was nothing to do it to."""

    def heal(self, here: World) -> None:
        """Take back what would keep the rest from being read."""


def play(name: str, kinds: Sequence[Fault], size: Size, folder: Path) -> Result:
    """Play one run and judge it."""
    result = Result(name, size.seed)
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        for kind in kinds:  # before the world, so that they end after it
            if isinstance(kind, contextlib.AbstractContextManager):
                stack.enter_context(kind)
        here = stack.enter_context(world(folder, size))
        for kind in kinds:
            kind.prepare(here)
        here.start()
        _until_busy(here)
        _strike(kinds, here, result)
        for kind in kinds:
            kind.heal(here)
        for pid in list(here.frozen):
            here.thaw(pid)
        try:
            here.drain()
            here.judge(result)
        except RuntimeError as error:
            result.wrong.append(str(error))
    result.seconds = time.monotonic() - began
    return result


def _until_busy(here: World) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        held = here.ask("select count(*) as n from leases.group_status where range_id is not null")
        if held[0]["n"] > len(here.names) // 2:
            return
        time.sleep(0.2)
    raise RuntimeError("the workers do not start")


def _strike(kinds: Sequence[Fault], here: World, result: Result) -> None:
    due = {kind: time.monotonic() + here.dice.uniform(0.0, 1.0) for kind in kinds}
    until = time.monotonic() + here.size.seconds
    while time.monotonic() < until:
        here.tend()
        for kind, at in due.items():
            if time.monotonic() >= at:
                did = kind.strike(here)
                if did:
                    result.faults[did] += 1
                due[kind] = time.monotonic() + here.dice.uniform(*kind.pause)
        time.sleep(0.05)
