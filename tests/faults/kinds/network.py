"""A wire that loses what was answered or asked, and a pooler that dies."""

from __future__ import annotations

import time
from types import TracebackType

from tests.faults import bouncer
from tests.faults.kinds.base import Kind
from tests.faults.wire import Fate
from tests.faults.world import World

_ODDS: dict[Fate, float] = {
    "lose answer": 0.01,
    "lose request": 0.005,
    "cut in answer": 0.005,
    "delay": 0.01,
}


class Network(Kind):
    """Answers lost after the commit, requests lost, half an answer, delays; all cut; nobody gets through."""

    name = "wire"

    def prepare(self, here: World) -> None:
        self._here = here
        here.wire.delay = 0.3
        here.wire.fate = self._fate

    def _fate(self) -> Fate:
        fates = list(_ODDS)
        return self._here.wire_dice.choices(
            ["pass", *fates], [1 - sum(_ODDS.values()), *_ODDS.values()]
        )[0]

    def strike(self, here: World) -> str | None:
        if here.dice.random() < 0.5:
            here.wire.cut()
            return "all connections cut"
        here.wire.down()
        time.sleep(here.dice.uniform(0.2, 1.5))
        here.wire.up()
        return "the network down for a while"

    def heal(self, here: World) -> None:
        here.wire.fate = lambda: "pass"


class Pooler(Kind):
    """PgBouncer in transaction mode before the server, killed and started."""

    name = "pooler"
    pause = (1.0, 3.0)
    _bouncer: bouncer.Bouncer | None = None

    def lacks(self) -> str | None:
        return None if bouncer.find() else "pgbouncer is not installed"

    def __enter__(self) -> Pooler:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._bouncer:
            self._bouncer.__exit__()

    def prepare(self, here: World) -> None:
        self._bouncer = bouncer.Bouncer(here.server.host, here.server.port, here.roles).__enter__()
        here.wire.pooler = self._bouncer.socket
        here.when_moved.append(lambda: self._bouncer and self._bouncer.point_to(here.server.host))

    def strike(self, here: World) -> str | None:
        assert self._bouncer
        self._bouncer.kill()
        time.sleep(here.dice.uniform(0.0, 0.5))
        self._bouncer.start()
        return "PgBouncer killed and started"
