"""Workers that die and freeze, and new ones under their names."""

from __future__ import annotations

from tests.faults.kinds.base import Kind
from tests.faults.world import TTL, World


class Workers(Kind):
    """SIGKILL; SIGSTOP past the ttl; gone in the middle of a snapshot; a name used by two at once."""

    name = "workers"

    def prepare(self, here: World) -> None:
        here.told["dies_in_snapshots"] = 0.01

    def strike(self, here: World) -> str | None:
        running = here.running()
        if not running or len(here.frozen) > 3:
            return None
        name, pid = here.dice.choice(running)
        what = here.dice.randrange(4)
        if what == 0:
            here.kill(pid)
            return "a worker killed"
        here.freeze(pid, TTL * here.dice.uniform(0.5, 2.0))
        if what == 1:
            here.start_worker(name)
            return "a worker frozen, and another started under its name at once"
        return "a worker frozen and thawed"

    def heal(self, here: World) -> None:
        here.told["dies_in_snapshots"] = 0.0
